/** Schema of the service, as the console reads it: attributes, their domains, and the values of a domain. */

const BASIC = ["integer", "float", "string", "boolean", "timestamp", "binary"];

export class SchemaView {
  /**
   * `answer`: GET /v1/schema. Filters may name more attributes than its form has: those that CloudEvents carry.
   * `operators`: what GET /v1/operators lists.
   */
  constructor(answer, operators = []) {
    this.operators = new Map(operators.map((each) => [each.name, each]));
    const form = answer.schema;
    this.version = answer.version;
    this.domains = form.domains ?? {};
    this.types = form.event_types ?? {};
    this.tables = form.tables ?? {};
    this.attributes = Object.entries(form.attributes ?? {}).map(([name, domain]) => this.#attribute(name, domain));
    this.named = new Map(this.attributes.map((each) => [each.name, each]));
    for (const { name, domain, kind, multiple } of answer.attributes) {
      if (!this.named.has(name)) this.named.set(name, { name, domain, type: kind, ordered: false, multiple, values: [], types: [] });
    }
    this.named.set("event_type", {
      name: "event_type", domain: "event type", type: "enumerated", ordered: false, multiple: true,
      values: Object.keys(this.types).map((value) => ({ value, within: [] })), types: Object.keys(this.types),
    });
  }

  /** What can stand where an attribute names its domain. */
  get domainNames() {
    return [...BASIC, ...Object.keys(this.domains)];
  }

  #attribute(name, domain) {
    const definition = typeof domain === "string" ? this.domains[domain] ?? { type: domain } : domain;
    const holders = Object.entries(this.types).filter(([, attributes]) => name in attributes);
    return {
      name,
      domain: typeof domain === "string" ? domain : definition.type,
      type: definition.type,
      ordered: Boolean(definition.order?.length),
      multiple: holders.some(([, attributes]) => annotation(attributes[name]).multiple),
      values: valuesOf(definition),
      types: holders.map(([type]) => type),
    };
  }
}

/** "mandatory" or ["optional", "multiple"] as two booleans. */
export function annotation(given) {
  const words = Array.isArray(given) ? given : [given];
  return { mandatory: words.includes("mandatory"), multiple: words.includes("multiple") };
}

/** Values of a domain; those of a tree with their parents. */
export function valuesOf({ type, values = [], tree = {} }) {
  if (type === "enumerated") return values.map((value) => ({ value, within: [] }));
  if (type === "hierarchical") return [...nodes(tree, [])];
  return [];
}

function* nodes(tree, within) {
  for (const [value, below] of Object.entries(tree ?? {})) {
    yield { value, within };
    yield* nodes(below, [...within, value]);
  }
}
