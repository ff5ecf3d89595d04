import { WebglAddon } from "@xterm/addon-webgl";
import type { Terminal } from "@xterm/xterm";

/** Software renderers of WebGL: DOM elements are faster on the CPU (scenario `typing` of the benchmark). */
const SOFTWARE_RENDERER = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/** The DOM renderer is used without a GPU, and takes over when the GPU context is lost. */
export function openWebgl(terminal: Terminal): Disposable | undefined {
  if (!hasGpu()) return undefined;
  try {
    const webgl = new WebglAddon();
    const scope = new DisposableStack();
    scope.defer(() => webgl.dispose());
    webgl.onContextLoss(() => scope.dispose());
    terminal.loadAddon(webgl);
    return scope;
  } catch {
    return undefined;
  }
}

function hasGpu(): boolean {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (context === null) return false;
  const info = context.getExtension("WEBGL_debug_renderer_info");
  const renderer: unknown = info && context.getParameter(info.UNMASKED_RENDERER_WEBGL);
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return !SOFTWARE_RENDERER.test(String(renderer));
}
