// How the page is built. Everything it needs is in the bundle: it loads from its own server alone.
import { defineConfig } from "vite";

export default defineConfig({
  root: new URL("src/web/", import.meta.url).pathname,
  // Absolute, because the page answers at addresses of any depth.
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: new URL("dist/web/", import.meta.url).pathname,
    emptyOutDir: true,
    sourcemap: false,
    // No data: addresses, so that the content security policy can stay at 'self'.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
    rolldownOptions: {
      output: {
        // Together, so that zod is configured before a chunk that lazy views share makes a schema.
        codeSplitting: { groups: [{ name: "zod", test: /[\\/]zod[\\/]|schema-config/ }] },
      },
    },
  },
});
