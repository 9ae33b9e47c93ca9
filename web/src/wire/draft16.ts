import { Reader, Writer } from "./bytes.ts";
import { DoneCode } from "./codes.ts";
import { complete, InvalidValue, Truncated, violation } from "./errors.ts";
import { encodeFilter } from "./filter.ts";
import { encodeProperties, isOdd, PROPERTY_IMMUTABLE, type Property, writeProperties } from "./kvp.ts";
import { MAX_MESSAGE, MAX_PROPERTY, MAX_REASON, MAX_URI } from "./limits.ts";
import { readLocation } from "./location.ts";
import type { Message, RequestOk, Subscribe, SubscribeNamespace } from "./message.ts";
import { readNamespace, writeFullTrackName, writeNamespace } from "./namespace.ts";
import type { Params } from "./params.ts";
import { decodeName, encodeName } from "./text.ts";
import { add, normal, type Uint } from "./uint.ts";

// What differs in draft-ietf-moq-transport-16, as far as a player needs it. All messages of requests are on one control
// stream and begin with the request's id; integers are those of QUIC; parameters are key-value pairs.

/** Integers of QUIC: the two highest bits of the first byte tell the length. RFC 9000 Section 16 */
export class QuicReader extends Reader {
	override varint(): Uint {
		const first = this.uint8();
		const n = 1 << (first >> 6);
		if (this.left < n - 1) {
			this.at--;
			throw new Truncated();
		}
		const rest = this.take(n - 1);
		if (n < 8) return rest.reduce((v, b) => v * 256 + b, first & 0x3f);
		return normal(rest.reduce((v, b) => (v << 8n) | BigInt(b), BigInt(first & 0x3f)));
	}
}

export class QuicWriter extends Writer {
	override varint(x: Uint): this {
		if (x < 0 || x >= 2n ** 62n) throw new InvalidValue(`integer ${x}`);
		const log = x < 2 ** 6 ? 0 : x < 2 ** 14 ? 1 : x < 2 ** 30 ? 2 : 3;
		const b = new Uint8Array(1 << log);
		let v = BigInt(x);
		for (let i = b.length - 1; i >= 0; i--, v >>= 8n) b[i] = Number(v & 0xffn);
		b[0] = (b[0] as number) | (log << 6);
		return this.raw(b);
	}
}

/** Reads n key-value pairs, or all there are. [MOQT-16] Section 1.4.2, Key-Value-Pair Structure */
function readPairs(r: Reader, n: Uint = Number.POSITIVE_INFINITY): Property[] {
	const list: Property[] = [];
	let type: Uint = 0;
	while (list.length < n && (r.left > 0 || n !== Number.POSITIVE_INFINITY)) {
		type = add(type, r.varint());
		const x = r.varint();
		if (!isOdd(type)) {
			list.push({ type, uint: x });
			continue;
		}
		if (x > MAX_PROPERTY) throw violation("value of key-value pair is longer than 65535 bytes");
		list.push({ type, bytes: r.take(x as number) });
	}
	return list;
}

/** Reads Extension Headers, which are called properties in later drafts. */
export function readExtensions(b: Uint8Array): Property[] {
	return complete("extension headers", () => readPairs(new QuicReader(b))).map((p) =>
		// Inside Immutable Extensions are others.
		p.type === PROPERTY_IMMUTABLE && p.bytes
			? { type: p.type, bytes: encodeProperties(readExtensions(p.bytes)) }
			: { ...p, ...(p.bytes ? { bytes: p.bytes.slice() } : {}) },
	) as Property[];
}

const SETUP_MAX_REQUEST_ID = 0x02;
const SETUP_IMPLEMENTATION = 0x07;

// Parameters. [MOQT-16] Section 9.2.2, Message Parameters
const PARAM_EXPIRES = 0x08;
const PARAM_LARGEST_OBJECT = 0x09;
const PARAM_FORWARD = 0x10;
const PARAM_SUBSCRIBER_PRIORITY = 0x20;
const PARAM_FILTER = 0x21;
const PARAM_GROUP_ORDER = 0x22;

function writeParams(w: Writer, p: Params): void {
	const list: Property[] = [];
	if (p.forward !== undefined) list.push({ type: PARAM_FORWARD, uint: p.forward ? 1 : 0 });
	if (p.subscriberPriority !== undefined) list.push({ type: PARAM_SUBSCRIBER_PRIORITY, uint: p.subscriberPriority });
	if (p.filter) {
		// The others have integers that are written in another way.
		if (p.filter.type !== "LargestObject" && p.filter.type !== "NextGroupStart") throw new InvalidValue("filter");
		list.push({ type: PARAM_FILTER, bytes: encodeFilter(p.filter) });
	}
	if (p.groupOrder) list.push({ type: PARAM_GROUP_ORDER, uint: p.groupOrder === "ascending" ? 1 : 2 });
	w.varint(list.length);
	writeProperties(w, list);
}

/** Reads the parameters that answers have; others are ignored. */
function readParams(r: Reader): Params {
	const p: Params = {};
	for (const { type, uint, bytes } of readPairs(r, r.varint())) {
		if (type === PARAM_EXPIRES && uint !== undefined) p.expires = uint;
		if (type === PARAM_LARGEST_OBJECT && bytes) p.largestObject = readLocation(new QuicReader(bytes));
	}
	return p;
}

function message(type: number, body: (w: Writer) => void): Uint8Array<ArrayBuffer> {
	const w = new QuicWriter();
	body(w);
	if (w.length > MAX_MESSAGE) throw new InvalidValue(`message of ${w.length} bytes`);
	return new QuicWriter().varint(type).uint16(w.length).raw(w.view).take();
}

/** [MOQT-16] Section 9.3, CLIENT_SETUP and SERVER_SETUP. The peer gets no requests granted, for a player takes none. */
export function encodeClientSetup(implementation: string): Uint8Array<ArrayBuffer> {
	return message(0x20, (w) => {
		w.varint(1);
		writeProperties(w, [{ type: SETUP_IMPLEMENTATION, bytes: encodeName(implementation) }]);
	});
}

/** [MOQT-16] Section 9.9, SUBSCRIBE */
export function encodeSubscribe(id: Uint, m: Subscribe): Uint8Array<ArrayBuffer> {
	return message(0x03, (w) => {
		w.varint(id);
		writeFullTrackName(w, m.track);
		writeParams(w, m.params);
	});
}

/** [MOQT-16] Section 9.12, UNSUBSCRIBE */
export function encodeUnsubscribe(id: Uint): Uint8Array<ArrayBuffer> {
	return message(0x0a, (w) => void w.varint(id));
}

/** Of the updates of a subscription. [MOQT-16] Section 9.11, REQUEST_UPDATE */
export function encodeRequestUpdate(id: Uint, existing: Uint, p: Params): Uint8Array<ArrayBuffer> {
	return message(0x02, (w) => {
		w.varint(id).varint(existing);
		writeParams(w, p);
	});
}

/** On a stream of its own. [MOQT-16] Section 9.25, SUBSCRIBE_NAMESPACE */
export function encodeSubscribeNamespace(id: Uint, m: SubscribeNamespace): Uint8Array<ArrayBuffer> {
	return message(0x11, (w) => {
		w.varint(id);
		writeNamespace(w, m.prefix);
		w.varint(1); // namespaces, not tracks
		writeParams(w, m.params);
	});
}

/** A message of the peer: an answer is as later drafts have it, with the id of what it answers. */
export type Incoming16 =
	| { type: "SERVER_SETUP"; maxRequestId: Uint }
	| { type: "MAX_REQUEST_ID"; maxRequestId: Uint }
	| { type: "GOAWAY"; uri: string }
	| { type: "ANSWER"; requestId: Uint; message: Message }
	| { type: "NAMESPACE"; message: Message }
	| { type: "REQUESTS_BLOCKED" };

/** Reads a message with its type and length. It throws Truncated until all of it is there. */
export function readMessage16(r: Reader): Incoming16 {
	const type = r.varint();
	const body = r.take(r.uint16());
	return complete(`message 0x${type.toString(16)}`, () => {
		const b = new QuicReader(body);
		const m = readBody(b, type);
		b.finish(`message 0x${type.toString(16)}`);
		return m;
	});
}

function readBody(r: Reader, type: Uint): Incoming16 {
	switch (type) {
		case 0x21: {
			const max = readPairs(r, r.varint()).find((p) => p.type === SETUP_MAX_REQUEST_ID)?.uint ?? 0;
			return { type: "SERVER_SETUP", maxRequestId: max };
		}
		case 0x15:
			return { type: "MAX_REQUEST_ID", maxRequestId: r.varint() };
		case 0x1a:
			r.varint();
			return { type: "REQUESTS_BLOCKED" };
		case 0x10:
			return { type: "GOAWAY", uri: decodeName(r.bytes(MAX_URI, "new session URI")) };
		case 0x04: {
			const [requestId, trackAlias, params] = [r.varint(), r.varint(), readParams(r)];
			const properties = readExtensions(r.rest());
			return { type: "ANSWER", requestId, message: { type: "SUBSCRIBE_OK", trackAlias, params, properties } };
		}
		case 0x05: {
			const [requestId, code, retry] = [r.varint(), r.varint(), r.varint()];
			const reason = decodeName(r.bytes(MAX_REASON, "reason phrase"));
			const error: Message = { type: "REQUEST_ERROR", code, reason };
			if (retry !== 0) error.retry = Number(retry) - 1;
			return { type: "ANSWER", requestId, message: error };
		}
		case 0x07: {
			const requestId = r.varint();
			const ok: RequestOk = { type: "REQUEST_OK", params: readParams(r), properties: [] };
			return { type: "ANSWER", requestId, message: ok };
		}
		case 0x0b: {
			const [requestId, status, streamCount] = [r.varint(), r.varint(), r.varint()];
			const reason = decodeName(r.bytes(MAX_REASON, "reason phrase"));
			return {
				type: "ANSWER",
				requestId,
				message: { type: "PUBLISH_DONE", status: done(status), streamCount, reason },
			};
		}
		case 0x08:
		case 0x0e:
			return {
				type: "NAMESPACE",
				message: { type: type === 0x08 ? "NAMESPACE" : "NAMESPACE_DONE", suffix: readNamespace(r) },
			};
		default:
			// Requests of the peer are among them: it was granted none. [MOQT-16] Section 9.3.1.3, MAX_REQUEST_ID
			throw violation(`message type 0x${type.toString(16)}`);
	}
}

/** Two codes have changed places since. [MOQT-16] Section 14.6.3, PUBLISH_DONE Codes */
function done(status: Uint): Uint {
	if (status === 0x5) return DoneCode.EXPIRED;
	if (status === 0x6) return DoneCode.TOO_FAR_BEHIND;
	return status;
}
