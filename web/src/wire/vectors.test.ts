import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Reader, Writer } from "./bytes.ts";
import { codeName, DoneCode, RequestCode, SessionCode, StreamCode } from "./codes.ts";
import { decodeDatagram, encodeDatagram, isPadding } from "./datagram.ts";
import { MalformedTrack, ProtocolError, TooLarge, Truncated, violation } from "./errors.ts";
import { decodeFilter, encodeFilter, type Filter } from "./filter.ts";
import { encodeProperties, type Property, readProperties } from "./kvp.ts";
import { readMediaProperties } from "./loc.ts";
import {
	checkFits,
	checkGoAway,
	checkRedirect,
	checkServerSetup,
	encodeMessage,
	type Message,
	type RequestType,
	readMessage,
} from "./message.ts";
import { readNamespace, writeNamespace } from "./namespace.ts";
import { NO_PROPERTIES, type ObjectHeader, ObjectStatus, SubgroupCursor } from "./object.ts";
import { streamKind } from "./stream.ts";
import { readSubgroupHeader, type SubgroupHeader, writeSubgroupHeader } from "./subgroup.ts";
import { decodeName, encodeName } from "./text.ts";
import { decodeToken, encodeToken, type Token } from "./token.ts";
import { normal, type Uint } from "./uint.ts";

// The vectors are those of the Go codec; moqt/wire/testdata/README.md describes them.
const file = JSON.parse(readFileSync(new URL("../../../moqt/wire/testdata/vectors.json", import.meta.url), "utf8"));

// biome-ignore lint/suspicious/noExplicitAny: vectors are JSON of many shapes
type Json = any;

interface Vector {
	kind: string;
	name: string;
	hex: string;
	value?: Json;
	error?: string;
	canonical?: boolean;
	context?: Json;
}

function errorName(err: unknown): string {
	if (err instanceof Truncated) return "TRUNCATED";
	if (err instanceof MalformedTrack) return "MALFORMED_TRACK";
	if (err instanceof TooLarge) return "TOO_LARGE";
	if (err instanceof ProtocolError) return codeName(SessionCode, err.code);
	throw err;
}

const unhex = (s: string) => Uint8Array.from(Buffer.from(s.replaceAll(" ", ""), "hex"));
const uint = (x: number | string): Uint => normal(BigInt(x));
const name = (x: Json): string => (typeof x === "string" ? x : decodeName(unhex(x.hex)));
const bytes = (x: Json): Uint8Array => (typeof x === "string" ? encodeName(x) : unhex(x.hex));
const location = ([group, object]: [number, number]) => ({ group: uint(group), object: uint(object) });
const code = (table: Record<string, number>, x: string): Uint => table[x] ?? uint(x);

/** Leaves out what is undefined, so that absent and undefined are the same. */
// biome-ignore lint/suspicious/noExplicitAny: any object
const compact = <T extends Record<string, any>>(o: T): T =>
	Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined)) as T;

const property = (p: Json): Property =>
	p.bytes === undefined ? { type: uint(p.type), uint: uint(p.uint) } : { type: uint(p.type), bytes: bytes(p.bytes) };
const properties = (list: Json): Property[] => (list ?? []).map(property);

const token = (t: Json): Token =>
	compact({
		aliasType: t.alias_type,
		alias: t.alias === undefined ? undefined : uint(t.alias),
		type: t.type === undefined ? undefined : uint(t.type),
		value: t.alias_type === "REGISTER" || t.alias_type === "USE_VALUE" ? bytes(t.value ?? "") : undefined,
	}) as Token;

const filter = (f: Json): Filter =>
	compact({
		type: f.type,
		start: f.start && location(f.start),
		endGroup: f.end_group === undefined ? undefined : uint(f.end_group),
	}) as Filter;

function params(p: Json = {}) {
	const opt = (x: Json) => (x === undefined ? undefined : uint(x));
	return compact({
		objectDeliveryTimeout: opt(p.object_delivery_timeout),
		authTokens: p.auth_tokens?.map(token),
		rendezvousTimeout: opt(p.rendezvous_timeout),
		subgroupDeliveryTimeout: opt(p.subgroup_delivery_timeout),
		expires: opt(p.expires),
		largestObject: p.largest_object && location(p.largest_object),
		fillTimeout: opt(p.fill_timeout),
		forward: p.forward,
		subscriberPriority: p.subscriber_priority,
		filter: p.filter && filter(p.filter),
		groupOrder: p.group_order,
		newGroupRequest: opt(p.new_group_request),
		trackNamespacePrefix: p.track_namespace_prefix?.map(name),
	});
}

function message(v: Json): Message {
	const track = { namespace: (v.namespace ?? []).map(name), name: name(v.name ?? "") };
	const requestId = v.request_id === undefined ? undefined : uint(v.request_id);
	const common = { type: v.type, requestId };
	const m = () => {
		switch (v.type) {
			case "SETUP":
				return {
					type: v.type,
					path: v.path,
					authority: v.authority,
					authTokens: v.auth_tokens?.map(token),
					maxAuthTokenCacheSize: v.max_auth_token_cache_size && uint(v.max_auth_token_cache_size),
					implementation: v.implementation,
					other: v.other?.map(property),
				};
			case "GOAWAY":
				return { ...common, newSessionUri: v.new_session_uri, timeout: uint(v.timeout) };
			case "SUBSCRIBE":
			case "TRACK_STATUS":
				return { ...common, track, params: params(v.params) };
			case "SUBSCRIBE_OK":
				return {
					type: v.type,
					trackAlias: uint(v.track_alias),
					params: params(v.params),
					properties: properties(v.properties),
				};
			case "PUBLISH":
				return {
					...common,
					track,
					trackAlias: uint(v.track_alias),
					params: params(v.params),
					properties: properties(v.properties),
				};
			case "PUBLISH_DONE":
				return {
					type: v.type,
					status: code(DoneCode, v.status),
					streamCount: uint(v.stream_count),
					reason: name(v.reason ?? ""),
				};
			case "REQUEST_UPDATE":
				return { ...common, params: params(v.params) };
			case "REQUEST_OK":
				return { type: v.type, params: params(v.params), properties: properties(v.properties) };
			case "REQUEST_ERROR":
				return {
					type: v.type,
					code: code(RequestCode, v.code),
					retry: v.retry === undefined ? undefined : uint(v.retry),
					reason: name(v.reason ?? ""),
					redirect: v.redirect && {
						connectUri: v.redirect.connect_uri ?? "",
						track: { namespace: (v.redirect.namespace ?? []).map(name), name: name(v.redirect.name ?? "") },
					},
				};
			case "PUBLISH_NAMESPACE":
				return { ...common, namespace: track.namespace, params: params(v.params) };
			case "SUBSCRIBE_NAMESPACE":
			case "SUBSCRIBE_TRACKS":
				return { ...common, prefix: v.prefix.map(name), params: params(v.params) };
			case "NAMESPACE":
			case "NAMESPACE_DONE":
				return { type: v.type, suffix: v.suffix.map(name) };
			case "PUBLISH_BLOCKED":
				return { type: v.type, track };
		}
		throw new Error(`vector of type ${v.type}`);
	};
	return compact(m() as Json) as Message;
}

/** Checks what depends on where a message came from. */
function checkContext(m: Message, c: Json = {}): void {
	const atServer = c.at === "server";
	if (m.type === "SETUP" && c.at === "client") checkServerSetup(m);
	if (m.type === "GOAWAY" && c.stream) checkGoAway(m, c.stream === "control", atServer);
	if (m.type === "REQUEST_OK" && c.answers) checkFits(m, c.answers as RequestType);
	if (m.type === "REQUEST_UPDATE" && c.updates) checkFits(m, c.updates as RequestType);
	if (m.type === "REQUEST_ERROR" && c.answers) checkRedirect(m, c.answers as RequestType, atServer);
}

const STATUS: Record<string, number> = {
	normal: ObjectStatus.NORMAL,
	"end of group": ObjectStatus.END_OF_GROUP,
	"end of track": ObjectStatus.END_OF_TRACK,
};

interface StreamObject extends ObjectHeader {
	payload: Uint8Array;
}

function subgroupStream(b: Uint8Array): { header: SubgroupHeader; objects: StreamObject[] } {
	const r = new Reader(b);
	const header = readSubgroupHeader(r);
	const cursor = new SubgroupCursor(header.hasProperties);
	const objects: StreamObject[] = [];
	while (r.left > 0) {
		const o = cursor.read(r);
		objects.push({ ...o, payload: r.take(o.payloadLength) });
	}
	return { header, objects };
}

function wantSubgroupStream(v: Json): { header: SubgroupHeader; objects: StreamObject[] } {
	const h = v.header;
	return {
		header: compact({
			trackAlias: uint(h.track_alias),
			groupId: uint(h.group_id),
			idMode: h.id_mode,
			subgroupId: h.subgroup_id === undefined ? undefined : uint(h.subgroup_id),
			priority: h.priority,
			hasProperties: h.properties ?? false,
			endOfGroup: h.end_of_group ?? false,
			firstObject: h.first_object ?? false,
		}),
		objects: (v.objects ?? []).map((o: Json) => {
			const payload = bytes(o.payload ?? "");
			return {
				id: uint(o.id),
				properties: o.properties ? encodeProperties(properties(o.properties)) : NO_PROPERTIES,
				payloadLength: payload.length,
				status: STATUS[o.status ?? "normal"],
				payload,
			};
		}),
	};
}

function encodeSubgroupStream({ header, objects }: { header: SubgroupHeader; objects: StreamObject[] }): Uint8Array {
	const w = new Writer();
	writeSubgroupHeader(w, header);
	const cursor = new SubgroupCursor(header.hasProperties);
	for (const o of objects) {
		cursor.write(w, o);
		w.raw(o.payload);
	}
	return w.take();
}

function wantDatagram(v: Json) {
	return compact({
		trackAlias: uint(v.track_alias),
		groupId: uint(v.group_id),
		objectId: uint(v.object_id),
		priority: v.priority,
		endOfGroup: v.end_of_group ?? false,
		properties: v.properties ? encodeProperties(properties(v.properties)) : NO_PROPERTIES,
		status: STATUS[v.status ?? "normal"] as number,
		payload: bytes(v.payload ?? ""),
	});
}

interface Codec {
	decode(b: Uint8Array, v: Vector): unknown;
	want(v: Json): unknown;
	encode?(want: never): Uint8Array;
}

function padding(b: Uint8Array): { length: number } {
	const r = new Reader(b);
	r.varint();
	const rest = r.rest();
	if (rest.some((x) => x !== 0)) throw violation("padding is not zero");
	return { length: rest.length };
}

const codecs: Record<string, Codec> = {
	varint: {
		decode: (b) => new Reader(b).varint(),
		want: uint,
		encode: (x: Uint) => new Writer().varint(x).take(),
	},
	namespace: {
		decode: (b) => readNamespace(new Reader(b)),
		want: (v) => v.map(name),
		encode: (ns: string[]) => {
			const w = new Writer();
			writeNamespace(w, ns);
			return w.take();
		},
	},
	properties: { decode: readProperties, want: properties, encode: encodeProperties },
	token: { decode: decodeToken, want: token, encode: encodeToken },
	filter: { decode: decodeFilter, want: filter, encode: encodeFilter },
	loc: {
		decode: (b) => readMediaProperties(b),
		want: (v) =>
			compact({
				timestamp: v.timestamp === undefined ? undefined : uint(v.timestamp),
				timestampType: v.timestamp_type,
				timescale: v.timescale === undefined ? undefined : uint(v.timescale),
				frameMarking: v.frame_marking && bytes(v.frame_marking),
				audioLevel: v.audio_level,
				videoConfig: v.video_config && bytes(v.video_config),
				audioConfig: v.audio_config && bytes(v.audio_config),
			}),
	},
	message: {
		decode: (b, v) => {
			const r = new Reader(b);
			const m = readMessage(r);
			r.finish("vector");
			checkContext(m, v.context);
			return m;
		},
		want: message,
		encode: encodeMessage,
	},
	stream_type: {
		decode: (b) => {
			const type = new Reader(b).varint();
			const kind = streamKind(type);
			if (!kind) throw violation(`unknown stream type ${type}`);
			return kind;
		},
		want: (v) => v,
	},
	subgroup_stream: { decode: subgroupStream, want: wantSubgroupStream, encode: encodeSubgroupStream },
	datagram: {
		decode: (b) => {
			const d = decodeDatagram(b);
			expect(isPadding(b)).toBe(false);
			return d;
		},
		want: wantDatagram,
		encode: encodeDatagram,
	},
	padding_datagram: {
		decode: (b) => {
			expect(isPadding(b)).toBe(true);
			return padding(b);
		},
		want: (v) => v,
	},
};

/** What a browser never reads, with the reason. */
function skipped(v: Vector): string | undefined {
	const type = v.value?.type ?? v.name.split(/[ ,]/)[0];
	if (["FETCH", "FETCH_OK"].includes(type) || v.hex.startsWith("16") || v.hex.startsWith("18 ")) {
		return "the player asks for nothing by FETCH, so it reads no answers";
	}
	if (v.context?.at === "server" && type !== "GOAWAY" && /^(PATH|AUTHORITY|SETUP)/.test(v.name)) {
		return "only a server reads PATH and AUTHORITY";
	}
	return undefined;
}

for (const [kind, codec] of Object.entries(codecs)) {
	describe(kind, () => {
		const vectors = (file.vectors as Vector[]).filter((v) => v.kind === kind);
		test("there are some", () => expect(vectors.length).toBeGreaterThan(0));
		for (const v of vectors) {
			if (kind === "message" && skipped(v)) continue;
			test(v.name, () => {
				const b = unhex(v.hex);
				if (v.error) {
					let got = "none";
					try {
						codec.decode(b, v);
					} catch (err) {
						got = errorName(err);
					}
					expect(got).toBe(v.error);
					return;
				}
				const want = codec.want(v.value);
				expect(codec.decode(b, v)).toEqual(want);
				if (!codec.encode) return;
				const encoded = Buffer.from(codec.encode(want as never)).toString("hex");
				expect(encoded === Buffer.from(b).toString("hex")).toBe(v.canonical ?? true);
			});
		}
	});
}

test("codes are those of the draft", () => {
	expect({ session: SessionCode, request: RequestCode, publish_done: DoneCode, stream: StreamCode }).toEqual(
		file.codes,
	);
});

test("few message vectors are skipped", () => {
	const all = (file.vectors as Vector[]).filter((v) => v.kind === "message");
	expect(all.filter(skipped).length).toBeLessThan(40);
});

test("a stream that is cut anywhere needs more bytes", () => {
	for (const v of file.vectors as Vector[]) {
		if (v.kind !== "subgroup_stream" || v.error) continue;
		const b = unhex(v.hex);
		for (let i = 0; i < b.length; i++) {
			try {
				subgroupStream(b.subarray(0, i));
			} catch (err) {
				expect(errorName(err), `${v.name}, ${i} bytes`).toBe("TRUNCATED");
			}
		}
	}
});
