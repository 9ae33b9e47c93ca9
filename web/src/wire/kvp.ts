import { Reader, Writer } from "./bytes.ts";
import { InvalidValue, kvpError, MalformedTrack, Truncated, violation } from "./errors.ts";
import { MAX_PROPERTY } from "./limits.ts";
import { add, MAX_UINT64, sub, type Uint } from "./uint.ts";

/** A Track or Object Property or a Setup Option: even types carry an integer, odd types bytes. */
export type Property =
	| { readonly type: Uint; readonly uint: Uint; readonly bytes?: undefined }
	| { readonly type: Uint; readonly bytes: Uint8Array; readonly uint?: undefined };

/** Properties inside which are others that only their publisher may change. [MOQT-18] Section 12.7 */
export const PROPERTY_IMMUTABLE = 0x0b;

export function isOdd(x: Uint): boolean {
	return typeof x === "number" ? x % 2 === 1 : (x & 1n) === 1n;
}

/** Reads the key-value pairs that fill b. Values point into b. [MOQT-18] Section 1.4.3, Key-Value-Pair Structure */
export function readProperties(b: Uint8Array): Property[] {
	const list: Property[] = [];
	const r = new Reader(b);
	let type: Uint = 0;
	try {
		while (r.left > 0) {
			// "If a Delta Type is received that would be too large, the Session MUST be closed with a
			// PROTOCOL_VIOLATION." [MOQT-18] Section 1.4.3, Key-Value-Pair Structure
			type = add(type, r.varint());
			if (type > MAX_UINT64) throw violation("type of key-value pair is above 2^64-1");
			const x = r.varint();
			if (!isOdd(type)) {
				list.push({ type, uint: x });
				continue;
			}
			if (x > MAX_PROPERTY) throw violation("value of key-value pair is longer than 65535 bytes");
			list.push({ type, bytes: r.take(x as number) });
		}
	} catch (err) {
		if (err instanceof Truncated) throw kvpError("key-value pair is longer than its block");
		throw err;
	}
	return list;
}

/** Writes the list, which must be in ascending order of type; equal types may follow each other. */
export function writeProperties(w: Writer, list: readonly Property[]): void {
	let prev: Uint = 0;
	for (const p of list) {
		if (p.type < prev) throw new InvalidValue(`property ${p.type} after ${prev}`);
		if (isOdd(p.type) !== (p.bytes !== undefined)) throw new InvalidValue(`property ${p.type} with the wrong value`);
		w.varint(sub(p.type, prev));
		prev = p.type;
		if (p.bytes === undefined) {
			w.varint(p.uint);
			continue;
		}
		if (p.bytes.length > MAX_PROPERTY) throw new InvalidValue(`property of ${p.bytes.length} bytes`);
		w.bytes(p.bytes);
	}
}

export function encodeProperties(list: readonly Property[]): Uint8Array {
	const w = new Writer();
	writeProperties(w, list);
	return w.take();
}

/** The list with what is inside Immutable Properties behind it, one level deep, for those who look for a value. */
export function withImmutable(list: Property[]): Property[] {
	const nested = list.find((p) => p.type === PROPERTY_IMMUTABLE)?.bytes;
	if (!nested) return list;
	try {
		return list.concat(readProperties(nested));
	} catch (err) {
		throw new MalformedTrack(`immutable properties: ${err}`);
	}
}
