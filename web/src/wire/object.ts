import type { Reader, Writer } from "./bytes.ts";
import { InvalidValue, TooLarge, violation } from "./errors.ts";
import { MAX_OBJECT_PROPERTIES } from "./limits.ts";
import { add, MAX_UINT64, sub, type Uint } from "./uint.ts";

/** [MOQT-18] Section 11.2.1.1, Object Status */
export const ObjectStatus = { NORMAL: 0, END_OF_GROUP: 3, END_OF_TRACK: 4 } as const;

/** An object on a subgroup stream without its payload. */
export interface ObjectHeader {
	id: Uint;
	/** Not parsed; empty if there are none. */
	properties: Uint8Array;
	/** Bytes that follow the header. */
	payloadLength: number;
	status: number;
}

export const NO_PROPERTIES = new Uint8Array(0);

/** Largest payload that is taken; the draft has no limit. A key frame of UHD video is a tenth of it. */
export const MAX_PAYLOAD = 32 << 20;

export function checkStatus(status: Uint, properties: Uint8Array): number {
	// "Any other value SHOULD be treated as a protocol error and the session SHOULD be closed with a
	// PROTOCOL_VIOLATION" [MOQT-18] Section 11.2.1.1, Object Status
	if (status !== 0 && status !== 3 && status !== 4) throw violation(`unknown object status 0x${status.toString(16)}`);
	// [MOQT-18] Section 11.2.1.2, Object Properties
	if (status !== 0 && properties.length > 0) throw violation("properties on an object that is not normal");
	return status;
}

export function checkSent(status: number, properties: Uint8Array, payloadLength: number): void {
	if (status !== 0 && (properties.length > 0 || payloadLength > 0)) {
		throw new InvalidValue(`object with status ${status} has properties or payload`);
	}
}

/** Reads the Object Properties structure. [MOQT-18] Section 11.2.1.2, Object Properties */
export function readObjectProperties(r: Reader): Uint8Array {
	const n = r.varint();
	if (n > MAX_OBJECT_PROPERTIES) throw new TooLarge(`object properties of ${n} bytes`);
	return r.take(n as number);
}

/** A place between two objects of a subgroup stream: what the next object's id counts from. */
export class SubgroupCursor {
	readonly hasProperties: boolean;
	#prev: Uint | undefined;

	constructor(hasProperties: boolean) {
		this.hasProperties = hasProperties;
	}

	/** Writes the header of the next object; its payload is to be written after it. */
	write(w: Writer, o: ObjectHeader): void {
		checkSent(o.status, o.properties, o.payloadLength);
		if (o.properties.length > 0 && !this.hasProperties) {
			throw new InvalidValue("object with properties on a stream without");
		}
		if (this.#prev !== undefined && o.id <= this.#prev) throw new InvalidValue(`object ${o.id} after ${this.#prev}`);
		w.varint(this.#prev === undefined ? o.id : sub(o.id, add(this.#prev, 1)));
		if (this.hasProperties) w.bytes(o.properties);
		w.varint(o.payloadLength);
		if (o.payloadLength === 0) w.varint(o.status);
		this.#prev = o.id;
	}

	/** Reads the header of the next object. The payload need not be there. On error the cursor stays. */
	read(r: Reader): ObjectHeader {
		const delta = r.varint();
		const id = this.#prev === undefined ? delta : add(add(this.#prev, 1), delta);
		// [MOQT-18] Section 11.4.2, Subgroup Header
		if (id > MAX_UINT64) throw violation("object id is above 2^64-1");
		const properties = this.hasProperties ? readObjectProperties(r) : NO_PROPERTIES;
		const length = r.varint();
		const status = length === 0 ? checkStatus(r.varint(), properties) : 0;
		if (length > MAX_PAYLOAD) throw new TooLarge(`object of ${length} bytes`);
		this.#prev = id;
		return { id, properties, payloadLength: length as number, status };
	}
}
