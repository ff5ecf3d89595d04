// Imported before anything that makes a schema: to check faster, zod would make code from text, which the page's
// Content-Security-Policy forbids; even to find that out it tries once, and the browser complains.
import { z } from "zod";

z.config({ jitless: true });
