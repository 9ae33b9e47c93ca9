import { Reader, Writer } from "./bytes.ts";
import { complete, InvalidValue, violation } from "./errors.ts";
import { checkSent, checkStatus, NO_PROPERTIES, readObjectProperties } from "./object.ts";
import type { Uint } from "./uint.ts";

// Bits of the type. [MOQT-18] Section 11.3.1, Object Datagram
const PROPERTIES = 0x01;
const END_OF_GROUP = 0x02;
const ZERO_OBJECT_ID = 0x04;
const DEFAULT_PRIORITY = 0x08;
const STATUS = 0x20;
const MASK = 0x2f;

export const DATAGRAM_PADDING = 0x132b3e29;

/** An object with its payload in one datagram. */
export interface Datagram {
	trackAlias: Uint;
	groupId: Uint;
	objectId: Uint;
	/** Absent: that of the track. */
	priority?: number;
	endOfGroup: boolean;
	properties: Uint8Array;
	status: number;
	payload: Uint8Array;
}

function isObjectType(x: Uint): boolean {
	if (typeof x !== "number" || (x & ~MASK) !== 0) return false;
	return (x & (STATUS | END_OF_GROUP)) !== (STATUS | END_OF_GROUP);
}

/** Whether a datagram is to be thrown away. It throws for a type that is not known. */
export function isPadding(b: Uint8Array): boolean {
	return complete("datagram", () => {
		const type = new Reader(b).varint();
		if (type === DATAGRAM_PADDING) return true;
		// "An endpoint that receives an unknown datagram type MUST close the session."
		// [MOQT-18] Section 11, Data Streams and Datagrams
		if (!isObjectType(type)) throw violation(`unknown datagram type 0x${type.toString(16)}`);
		return false;
	});
}

export function encodeDatagram(d: Datagram): Uint8Array<ArrayBuffer> {
	checkSent(d.status, d.properties, d.payload.length);
	if (d.status !== 0 && d.endOfGroup) throw new InvalidValue("datagram with status and end of group");
	let type = 0;
	if (d.properties.length > 0) type |= PROPERTIES;
	if (d.endOfGroup) type |= END_OF_GROUP;
	if (d.objectId === 0) type |= ZERO_OBJECT_ID;
	if (d.priority === undefined) type |= DEFAULT_PRIORITY;
	if (d.status !== 0) type |= STATUS;
	const w = new Writer().varint(type).varint(d.trackAlias).varint(d.groupId);
	if (d.objectId !== 0) w.varint(d.objectId);
	if (d.priority !== undefined) w.uint8(d.priority);
	if (d.properties.length > 0) w.bytes(d.properties);
	if (d.status !== 0) w.varint(d.status);
	return w.raw(d.payload).take();
}

/** Reads an object datagram. Properties and payload point into b. */
export function decodeDatagram(b: Uint8Array, Fields: typeof Reader = Reader): Datagram {
	return complete("datagram", () => {
		const r = new Fields(b);
		const type = r.varint();
		if (!isObjectType(type)) throw violation(`datagram type 0x${type.toString(16)} is not that of an object`);
		const bits = type as number;
		const d: Datagram = {
			trackAlias: r.varint(),
			groupId: r.varint(),
			objectId: bits & ZERO_OBJECT_ID ? 0 : r.varint(),
			endOfGroup: (bits & END_OF_GROUP) !== 0,
			properties: NO_PROPERTIES,
			status: 0,
			payload: NO_PROPERTIES,
		};
		if ((bits & DEFAULT_PRIORITY) === 0) d.priority = r.uint8();
		if (bits & PROPERTIES) {
			d.properties = readObjectProperties(r);
			// [MOQT-18] Section 11.3.1, Object Datagram
			if (d.properties.length === 0) throw violation("datagram with empty properties");
		}
		if ((bits & STATUS) === 0) {
			d.payload = r.rest();
			return d;
		}
		const status = r.varint();
		if (r.left > 0) throw violation("datagram with status has bytes after it");
		d.status = checkStatus(status, d.properties);
		return d;
	});
}
