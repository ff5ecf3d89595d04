import "./schema-config.ts";
import { render } from "preact";
import "@xterm/xterm/css/xterm.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/popups.css";
import "./styles/banner.css";
import "./styles/login.css";
import "./styles/workspace.css";
import "./styles/session.css";
import "./styles/machines.css";
import { App } from "./components/app.tsx";
import { exposeDiagnosis } from "./diagnosis.ts";
import { Page } from "./page.ts";

const page = new Page(window);
exposeDiagnosis(window, page);
const root = document.getElementById("page");
if (root !== null) render(<App page={page} />, root);
