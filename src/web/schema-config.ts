// Must be imported before any schema is created. To check faster, zod would generate code from text, which the page's
// Content-Security-Policy forbids. Even its check for that support makes the browser log an error.
import { z } from "zod";

z.config({ jitless: true });
