import type { Reader, Writer } from "./bytes.ts";
import { InvalidValue, violation } from "./errors.ts";
import { MAX_NAME, MAX_NAMESPACE_FIELDS } from "./limits.ts";
import { decodeName, encodeName } from "./text.ts";

/** A Track Namespace, or a prefix or suffix of one: 0 to 32 fields. [MOQT-18] Section 2.4.1, Track Naming */
export type Namespace = readonly string[];

export interface FullTrackName {
	readonly namespace: Namespace;
	readonly name: string;
}

/** Reads a namespace as people write it: fields with slashes between them. */
export function parseNamespace(s: string): Namespace {
	const fields = s.split("/");
	if (fields.some((f) => f === "")) throw new InvalidValue(`namespace ${JSON.stringify(s)} has an empty field`);
	return fields;
}

/** The reverse of parseNamespace. */
export function formatNamespace(ns: Namespace): string {
	return ns.join("/");
}

export function sameNamespace(a: Namespace, b: Namespace): boolean {
	return a.length === b.length && a.every((f, i) => f === b[i]);
}

/** Writes the namespace and returns the sum of the lengths of its fields. */
export function writeNamespace(w: Writer, ns: Namespace): number {
	if (ns.length > MAX_NAMESPACE_FIELDS) throw new InvalidValue(`namespace of ${ns.length} fields`);
	w.varint(ns.length);
	let size = 0;
	for (const field of ns) {
		const b = encodeName(field);
		size += b.length;
		if (b.length === 0 || size > MAX_NAME) throw new InvalidValue(`namespace with field of ${b.length} bytes`);
		w.bytes(b);
	}
	return size;
}

export function readNamespace(r: Reader): string[] {
	return readSized(r).fields;
}

function readSized(r: Reader): { fields: string[]; size: number } {
	const count = r.varint();
	// "If an endpoint receives a Track Namespace consisting of greater than 32 Track Namespace Fields, it MUST close
	// the session with a PROTOCOL_VIOLATION." [MOQT-18] Section 2.4.1, Track Naming
	if (count > MAX_NAMESPACE_FIELDS) throw violation("namespace has more than 32 fields");
	const fields: string[] = [];
	let size = 0;
	for (let i = 0; i < (count as number); i++) {
		const n = r.varint();
		if (n === 0) throw violation("namespace field is empty");
		if (n > MAX_NAME - size) throw violation("namespace is longer than 4096 bytes");
		size += n as number;
		fields.push(decodeName(r.take(n as number)));
	}
	return { fields, size };
}

export function writeFullTrackName(w: Writer, t: FullTrackName): void {
	const size = writeNamespace(w, t.namespace);
	const name = encodeName(t.name);
	if (size + name.length > MAX_NAME) throw new InvalidValue(`full track name of ${size + name.length} bytes`);
	w.bytes(name);
}

export function readFullTrackName(r: Reader): FullTrackName {
	const { fields, size } = readSized(r);
	return { namespace: fields, name: decodeName(r.bytes(MAX_NAME - size, "full track name")) };
}
