import { type ESTree, parseSync, Visitor } from "vite";

/** One import, of whatever spelling. `specifier` is undefined where it is computed and nobody can check it. */
export type Import = {
  readonly specifier: string | undefined;
  readonly line: number;
  /** "runtime": loads a module here. "type": leaves no trace. "thread": `new URL(…, import.meta.url)`, loaded elsewhere. */
  readonly kind: "runtime" | "type" | "thread";
};

/** A name or an expression that a rule cares for, and where it stands. */
export type Mention = { readonly what: string; readonly line: number };

/** What the rules want to know about one file. `path` counts from the root of the project, with slashes. */
export type Source = {
  readonly path: string;
  readonly imports: readonly Import[];
  /** Globals that only Node has. */
  readonly nodeGlobals: readonly Mention[];
  /** Reads of `process.env` and `process.argv`, spelt in any way. */
  readonly processReads: readonly Mention[];
  /** Exports that no file may have: "default" and "*". */
  readonly badExports: readonly Mention[];
  /** Names that the file gives: types, functions, variables, parameters, and members of classes and types. */
  readonly declarations: readonly Mention[];
};

const NODE_GLOBALS = new Set([
  "Buffer",
  "NodeJS",
  "__dirname",
  "__filename",
  "clearImmediate",
  "global",
  "process",
  "require",
  "setImmediate",
]);
/** Functions that load a module; `loadNative` is that of src/lib/os/installation.ts. */
const LOADERS = new Set(["require", "loadNative"]);
const PROCESS_READS = new Set(["env", "argv", "argv0", "execArgv"]);

/** Reads one TypeScript file. Throws where it does not parse. */
export function parseSource(path: string, text: string): Source {
  const { program, errors } = parseSync(path, text, { sourceType: "module" });
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`);
  const lineStarts = [...text.matchAll(/\n/g)].map((newline) => newline.index);
  const notes = new Notes((offset) => 1 + lineStarts.filter((start) => start < offset).length);
  new Visitor({ ...importVisitor(notes), ...mentionVisitor(notes), ...exportVisitor(notes) }).visit(program);
  new Visitor(declarationVisitor(notes)).visit(program);
  return { path, ...notes };
}

class Notes {
  readonly imports: Import[] = [];
  readonly nodeGlobals: Mention[] = [];
  readonly processReads: Mention[] = [];
  readonly badExports: Mention[] = [];
  readonly declarations: Mention[] = [];
  readonly #lineOf: (offset: number) => number;

  constructor(lineOf: (offset: number) => number) {
    this.#lineOf = lineOf;
  }

  import(kind: Import["kind"], specifier: string | undefined, node: ESTree.Span): void {
    this.imports.push({ kind, specifier, line: this.#lineOf(node.start) });
  }

  mention(list: Mention[], what: string, node: ESTree.Span): void {
    list.push({ what, line: this.#lineOf(node.start) });
  }
}

type Handlers = ConstructorParameters<typeof Visitor>[0];

function importVisitor(notes: Notes): Handlers {
  return {
    ImportDeclaration: (node) => {
      notes.import(node.importKind === "type" ? "type" : "runtime", node.source.value, node);
      if (/^(node:)?process$/.test(node.source.value)) readOfImportedProcess(notes, node);
    },
    ImportExpression: (node) => notes.import("runtime", literal(node.source), node),
    TSImportType: (node) => notes.import("type", literal(node.source), node),
    CallExpression: (node) => {
      const required = node.callee.type === "Identifier" && LOADERS.has(node.callee.name);
      if (required) notes.import("runtime", literal(node.arguments[0]), node);
    },
    NewExpression: (node) => {
      for (const specifier of threadSpecifiers(node)) notes.import("thread", specifier, node);
    },
  };
}

function readOfImportedProcess(notes: Notes, node: ESTree.ImportDeclaration): void {
  for (const specifier of node.specifiers) {
    if (specifier.type !== "ImportSpecifier" || specifier.imported.type !== "Identifier") continue;
    const name = specifier.imported.name;
    if (PROCESS_READS.has(name)) notes.mention(notes.processReads, `process.${name}`, specifier);
  }
}

/** The files that `new URL(…, import.meta.url)` can mean: a file that runs as source and built has two names. */
function threadSpecifiers(node: ESTree.NewExpression): string[] {
  const [target, base] = node.arguments;
  const isUrl = node.callee.type === "Identifier" && node.callee.name === "URL";
  if (!isUrl || base?.type !== "MemberExpression" || base.object.type !== "MetaProperty") return [];
  if (target?.type === "ConditionalExpression") {
    return [literal(target.consequent), literal(target.alternate)].filter((found) => found !== undefined);
  }
  const specifier = literal(target);
  return specifier === undefined ? [] : [specifier];
}

function mentionVisitor(notes: Notes): Handlers {
  // Parents are visited first, so that the names of members and keys are known before they are met as identifiers.
  const keys = new Set<number>();
  return {
    MemberExpression: (node) => {
      const name = memberName(node);
      if (!node.computed) keys.add(node.property.start);
      if (name !== undefined && PROCESS_READS.has(name) && isProcess(node.object)) {
        notes.mention(notes.processReads, `process.${name}`, node);
      }
    },
    VariableDeclarator: (node) => {
      if (node.id.type !== "ObjectPattern" || node.init === null || !isProcess(node.init)) return;
      for (const property of node.id.properties) {
        const name = property.type === "Property" ? keyName(property.key) : undefined;
        if (name !== undefined && PROCESS_READS.has(name)) {
          notes.mention(notes.processReads, `process.${name}`, property);
        }
      }
    },
    Property: (node) => {
      if (!node.computed && !node.shorthand) keys.add(node.key.start);
    },
    PropertyDefinition: (node) => void keys.add(node.key.start),
    MethodDefinition: (node) => void keys.add(node.key.start),
    TSPropertySignature: (node) => void keys.add(node.key.start),
    TSMethodSignature: (node) => void keys.add(node.key.start),
    Identifier: (node) => {
      if (NODE_GLOBALS.has(node.name) && !keys.has(node.start)) {
        notes.mention(notes.nodeGlobals, node.name, node);
      }
    },
  };
}

function exportVisitor(notes: Notes): Handlers {
  return {
    ExportDefaultDeclaration: (node) => notes.mention(notes.badExports, "default", node),
    ExportAllDeclaration: (node) => {
      notes.import(node.exportKind === "type" ? "type" : "runtime", node.source.value, node);
      notes.mention(notes.badExports, "*", node);
    },
    ExportNamedDeclaration: (node) => {
      if (node.source !== null) {
        notes.import(node.exportKind === "type" ? "type" : "runtime", node.source.value, node);
      }
      for (const { exported } of node.specifiers) {
        if (keyName(exported) === "default") notes.mention(notes.badExports, "default", node);
      }
    },
  };
}

function declarationVisitor(notes: Notes): Handlers {
  const declare = (node: ESTree.Node): void => {
    const name = node.type === "PrivateIdentifier" ? node.name : keyName(node);
    if (name !== undefined) notes.mention(notes.declarations, name, node);
  };
  const declareAll = (pattern: ESTree.Node | null): void => {
    if (pattern !== null) namesOf(pattern).forEach(declare);
  };
  const declareKey = ({ key }: { readonly key: ESTree.Node }): void => declare(key);
  const declareFunction = (node: ESTree.Function | ESTree.ArrowFunctionExpression): void => {
    if (node.id !== null) declare(node.id);
    node.params.forEach(declareAll);
  };
  const declareType = ({ id }: { readonly id: ESTree.Node }): void => declare(id);
  return {
    VariableDeclarator: ({ id }) => declareAll(id),
    FunctionDeclaration: declareFunction,
    FunctionExpression: declareFunction,
    ArrowFunctionExpression: declareFunction,
    ClassDeclaration: ({ id }) => declareAll(id),
    TSTypeAliasDeclaration: declareType,
    TSInterfaceDeclaration: declareType,
    PropertyDefinition: declareKey,
    MethodDefinition: declareKey,
    TSPropertySignature: declareKey,
    TSMethodSignature: declareKey,
  };
}

/** The names that a pattern declares; `{ name }` takes over the name that a type has given. */
function namesOf(pattern: ESTree.Node): ESTree.Node[] {
  if (pattern.type === "AssignmentPattern") return namesOf(pattern.left);
  if (pattern.type === "RestElement") return namesOf(pattern.argument);
  if (pattern.type === "ArrayPattern") {
    return pattern.elements.flatMap((element) => (element === null ? [] : namesOf(element)));
  }
  if (pattern.type !== "ObjectPattern") return [pattern];
  return pattern.properties.flatMap((property) => {
    if (property.type === "RestElement") return namesOf(property.argument);
    return property.shorthand ? [] : namesOf(property.value);
  });
}

function isProcess(node: ESTree.Expression | ESTree.Super): boolean {
  if (node.type === "Identifier") return node.name === "process";
  return node.type === "MemberExpression" && memberName(node) === "process";
}

function memberName(node: ESTree.MemberExpression): string | undefined {
  return node.computed ? literal(node.property) : keyName(node.property);
}

function keyName(node: ESTree.Node): string | undefined {
  return node.type === "Identifier" ? node.name : literal(node);
}

function literal(node: ESTree.Node | undefined): string | undefined {
  return node?.type === "Literal" && typeof node.value === "string" ? node.value : undefined;
}
