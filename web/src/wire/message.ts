import { Reader, Writer } from "./bytes.ts";
import { type Code, RequestCode, SessionCode } from "./codes.ts";
import { complete, InvalidValue, MalformedTrack, ProtocolError, violation } from "./errors.ts";
import { isOdd, PROPERTY_IMMUTABLE, type Property, readProperties, withImmutable, writeProperties } from "./kvp.ts";
import { MAX_MESSAGE, MAX_REASON, MAX_URI } from "./limits.ts";
import {
	type FullTrackName,
	type Namespace,
	readFullTrackName,
	readNamespace,
	writeFullTrackName,
	writeNamespace,
} from "./namespace.ts";
import { checkReceived, type ParamName, type Params, readParams, writeParams } from "./params.ts";
import { decodeName, encodeName } from "./text.ts";
import { decodeToken, encodeToken, type Token } from "./token.ts";
import { add, type Uint } from "./uint.ts";

// The control messages of [MOQT-18] Section 10 that a player or a publisher in a browser needs. FETCH is not among
// them.

export interface Setup {
	type: "SETUP";
	path?: string;
	authority?: string;
	authTokens?: Token[];
	maxAuthTokenCacheSize?: Uint;
	implementation?: string;
	/** Options that are not known, in order of type. They are to be ignored. */
	other?: Property[];
}

export interface GoAway {
	type: "GOAWAY";
	newSessionUri?: string;
	/** Milliseconds; 0 is unknown. */
	timeout: Uint;
	/** On a control stream only. */
	requestId?: Uint;
}

interface TrackRequest {
	requestId: Uint;
	track: FullTrackName;
	params: Params;
}

export interface Subscribe extends TrackRequest {
	type: "SUBSCRIBE";
}
export interface TrackStatus extends TrackRequest {
	type: "TRACK_STATUS";
}
export interface SubscribeOk {
	type: "SUBSCRIBE_OK";
	trackAlias: Uint;
	params: Params;
	properties: Property[];
}
export interface Publish extends TrackRequest {
	type: "PUBLISH";
	trackAlias: Uint;
	properties: Property[];
}
export interface PublishDone {
	type: "PUBLISH_DONE";
	status: Code;
	streamCount: Uint;
	reason: string;
}
export interface RequestUpdate {
	type: "REQUEST_UPDATE";
	requestId: Uint;
	params: Params;
}
export interface RequestOk {
	type: "REQUEST_OK";
	params: Params;
	properties: Property[];
}
export interface RequestError {
	type: "REQUEST_ERROR";
	code: Code;
	/** Milliseconds to wait before the next try; absent: do not try again. */
	retry?: Uint;
	reason: string;
	redirect?: { connectUri: string; track: FullTrackName };
}
export interface PublishNamespace {
	type: "PUBLISH_NAMESPACE";
	requestId: Uint;
	namespace: Namespace;
	params: Params;
}
export interface SubscribeNamespace {
	type: "SUBSCRIBE_NAMESPACE" | "SUBSCRIBE_TRACKS";
	requestId: Uint;
	prefix: Namespace;
	params: Params;
}
export interface NamespaceMessage {
	type: "NAMESPACE" | "NAMESPACE_DONE";
	suffix: Namespace;
}
export interface PublishBlocked {
	type: "PUBLISH_BLOCKED";
	track: FullTrackName;
}

export type Message =
	| Setup
	| GoAway
	| Subscribe
	| TrackStatus
	| SubscribeOk
	| Publish
	| PublishDone
	| RequestUpdate
	| RequestOk
	| RequestError
	| PublishNamespace
	| SubscribeNamespace
	| NamespaceMessage
	| PublishBlocked;

export type MessageType = Message["type"];

const CODES: Record<MessageType, number> = {
	REQUEST_UPDATE: 0x02,
	SUBSCRIBE: 0x03,
	SUBSCRIBE_OK: 0x04,
	REQUEST_ERROR: 0x05,
	PUBLISH_NAMESPACE: 0x06,
	REQUEST_OK: 0x07,
	NAMESPACE: 0x08,
	PUBLISH_DONE: 0x0b,
	TRACK_STATUS: 0x0d,
	NAMESPACE_DONE: 0x0e,
	PUBLISH_BLOCKED: 0x0f,
	GOAWAY: 0x10,
	PUBLISH: 0x1d,
	SUBSCRIBE_NAMESPACE: 0x50,
	SUBSCRIBE_TRACKS: 0x51,
	SETUP: 0x2f00,
};
const BY_CODE = new Map<Uint, MessageType>(Object.entries(CODES).map(([t, c]) => [c, t as MessageType]));
// The text makes PUBLISH_OK a REQUEST_OK, but the table of messages still has its old number.
BY_CODE.set(0x1e, "REQUEST_OK");

// Which message may hold which parameter. [MOQT-18] Sections 10.2.2 to 10.2.14
const SUBSCRIPTION: readonly ParamName[] = [
	"objectDeliveryTimeout",
	"subgroupDeliveryTimeout",
	"forward",
	"subscriberPriority",
	"filter",
	"newGroupRequest",
];
const ALLOWED = {
	subscribe: [...SUBSCRIPTION, "authTokens", "rendezvousTimeout", "groupOrder"],
	subscribeOk: ["expires", "largestObject"],
	publish: ["authTokens", "expires", "largestObject", "forward"],
	token: ["authTokens"],
	subscribeTracks: ["authTokens", "forward"],
	publishOk: [...SUBSCRIPTION, "expires", "groupOrder"],
	updateSubscription: [...SUBSCRIPTION, "authTokens"],
	updateFetch: ["authTokens", "subscriberPriority"],
	updatePrefix: ["authTokens", "trackNamespacePrefix"],
	none: [],
} as const satisfies Record<string, readonly ParamName[]>;
const ANY_OK: readonly ParamName[] = [...ALLOWED.publishOk, "largestObject"];
const ANY_UPDATE: readonly ParamName[] = [...ALLOWED.updateSubscription, "trackNamespacePrefix"];

/** A request is what a message answers or updates; FETCH is not sent but its name can occur. */
export type RequestType = MessageType | "FETCH";

const REPLIES: Partial<Record<RequestType, readonly ParamName[]>> = {
	PUBLISH: ALLOWED.publishOk,
	REQUEST_UPDATE: ALLOWED.subscribeOk,
	TRACK_STATUS: ALLOWED.subscribeOk,
	PUBLISH_NAMESPACE: ALLOWED.none,
	SUBSCRIBE_NAMESPACE: ALLOWED.none,
	SUBSCRIBE_TRACKS: ALLOWED.none,
};
const UPDATES: Partial<Record<RequestType, readonly ParamName[]>> = {
	SUBSCRIBE: ALLOWED.updateSubscription,
	PUBLISH: ALLOWED.updateSubscription,
	FETCH: ALLOWED.updateFetch,
	PUBLISH_NAMESPACE: ALLOWED.token,
	SUBSCRIBE_NAMESPACE: ALLOWED.updatePrefix,
	SUBSCRIBE_TRACKS: ALLOWED.updatePrefix,
};

/** Fails if a REQUEST_OK or REQUEST_UPDATE does not fit the request it belongs to. */
export function checkFits(m: RequestOk | RequestUpdate, request: RequestType): void {
	const allowed = (m.type === "REQUEST_OK" ? REPLIES : UPDATES)[request];
	if (!allowed) throw violation(`${m.type} for a ${request}`);
	// [MOQT-18] Section 10.5, REQUEST_OK
	if (m.type === "REQUEST_OK" && request !== "TRACK_STATUS" && m.properties.length > 0) {
		throw violation(`REQUEST_OK with track properties in answer to ${request}`);
	}
	checkReceived(m.params, allowed);
}

/** Fails if a redirect is not allowed where it stands. [MOQT-18] Section 10.6.1, Redirect Structure */
export function checkRedirect(m: RequestError, request: RequestType, atServer: boolean): void {
	if (!m.redirect) return;
	if (atServer && m.redirect.connectUri !== "") throw violation("redirect from a client names a URI");
	const scoped: RequestType[] = ["PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"];
	if (scoped.includes(request) && m.redirect.track.name !== "") {
		throw violation("redirect of a namespace request names a track");
	}
}

/** Fails if a GOAWAY is not allowed where it stands. [MOQT-18] Section 10.4, GOAWAY */
export function checkGoAway(m: GoAway, onControlStream: boolean, atServer: boolean): void {
	if (atServer && m.newSessionUri) throw violation("GOAWAY from a client names a URI");
	if ((m.requestId !== undefined) !== onControlStream) {
		throw violation("GOAWAY with a request id belongs on the control stream, without on a request stream");
	}
	if (m.requestId !== undefined && isOdd(m.requestId) !== atServer) {
		throw new ProtocolError(SessionCode.INVALID_REQUEST_ID, "request id in GOAWAY is not one of the receiver's");
	}
}

/** Fails if a SETUP holds what a server must not send. [MOQT-18] Section 10.3.1, Setup Options */
export function checkServerSetup(m: Setup): void {
	if (m.path !== undefined) throw new ProtocolError(SessionCode.INVALID_PATH, "PATH is not allowed here");
	if (m.authority !== undefined) {
		throw new ProtocolError(SessionCode.INVALID_AUTHORITY, "AUTHORITY is not allowed here");
	}
}

/** Returns the message with its type and length. */
export function encodeMessage(m: Message): Uint8Array<ArrayBuffer> {
	const body = new Writer();
	writeBody(body, m);
	if (body.length > MAX_MESSAGE) throw new InvalidValue(`message of ${body.length} bytes`);
	return new Writer().varint(CODES[m.type]).uint16(body.length).raw(body.view).take();
}

/** Reads a message with its type and length. It throws Truncated until all of it is there. */
export function readMessage(r: Reader): Message {
	const code = r.varint();
	const type = BY_CODE.get(code);
	if (!type) throw violation(`unknown message type 0x${code.toString(16)}`);
	const body = r.take(r.uint16());
	return complete(type, () => {
		const b = new Reader(body);
		const m = readBody(b, type);
		b.finish(type);
		return m;
	});
}

function writeBody(w: Writer, m: Message): void {
	switch (m.type) {
		case "SETUP":
			return writeProperties(w, setupOptions(m));
		case "GOAWAY":
			w.bytes(encodeName(m.newSessionUri ?? "")).varint(m.timeout);
			if (m.requestId !== undefined) w.varint(m.requestId);
			return;
		case "SUBSCRIBE":
		case "TRACK_STATUS":
			w.varint(m.requestId);
			writeFullTrackName(w, m.track);
			return writeParams(w, m.params, m.type === "SUBSCRIBE" ? ALLOWED.subscribe : ALLOWED.token);
		case "SUBSCRIBE_OK":
			w.varint(m.trackAlias);
			writeParams(w, m.params, ALLOWED.subscribeOk);
			return writeProperties(w, m.properties);
		case "PUBLISH":
			w.varint(m.requestId);
			writeFullTrackName(w, m.track);
			w.varint(m.trackAlias);
			writeParams(w, m.params, ALLOWED.publish);
			return writeProperties(w, m.properties);
		case "PUBLISH_DONE":
			w.varint(m.status).varint(m.streamCount);
			return writeReason(w, m.reason);
		case "REQUEST_UPDATE":
			w.varint(m.requestId);
			return writeParams(w, m.params, ANY_UPDATE);
		case "REQUEST_OK":
			writeParams(w, m.params, ANY_OK);
			return writeProperties(w, m.properties);
		case "REQUEST_ERROR":
			return writeRequestError(w, m);
		case "PUBLISH_NAMESPACE":
			w.varint(m.requestId);
			writeNamespace(w, m.namespace);
			return writeParams(w, m.params, ALLOWED.token);
		case "SUBSCRIBE_NAMESPACE":
		case "SUBSCRIBE_TRACKS":
			w.varint(m.requestId);
			writeNamespace(w, m.prefix);
			return writeParams(w, m.params, m.type === "SUBSCRIBE_TRACKS" ? ALLOWED.subscribeTracks : ALLOWED.token);
		case "NAMESPACE":
		case "NAMESPACE_DONE":
			writeNamespace(w, m.suffix);
			return;
		case "PUBLISH_BLOCKED":
			return writeFullTrackName(w, m.track);
	}
}

function readBody(r: Reader, type: MessageType): Message {
	switch (type) {
		case "SETUP":
			return readSetup(r);
		case "GOAWAY": {
			const uri = decodeName(r.bytes(MAX_URI, "new session URI"));
			const m: GoAway = { type, timeout: r.varint() };
			if (uri !== "") m.newSessionUri = uri;
			if (r.left > 0) m.requestId = r.varint();
			return m;
		}
		case "SUBSCRIBE":
		case "TRACK_STATUS": {
			const allowed = type === "SUBSCRIBE" ? ALLOWED.subscribe : ALLOWED.token;
			return { type, requestId: r.varint(), track: readFullTrackName(r), params: readParams(r, allowed) };
		}
		case "SUBSCRIBE_OK": {
			const trackAlias = r.varint();
			const params = readParams(r, ALLOWED.subscribeOk);
			return { type, trackAlias, params, properties: readTrackProperties(r) };
		}
		case "PUBLISH": {
			const requestId = r.varint();
			const track = readFullTrackName(r);
			const trackAlias = r.varint();
			const params = readParams(r, ALLOWED.publish);
			return { type, requestId, track, trackAlias, params, properties: readTrackProperties(r) };
		}
		case "PUBLISH_DONE":
			return { type, status: r.varint(), streamCount: r.varint(), reason: readReason(r) };
		case "REQUEST_UPDATE":
			return { type, requestId: r.varint(), params: readParams(r, ANY_UPDATE) };
		case "REQUEST_OK":
			return { type, params: readParams(r, ANY_OK), properties: readTrackProperties(r) };
		case "REQUEST_ERROR":
			return readRequestError(r);
		case "PUBLISH_NAMESPACE":
			return { type, requestId: r.varint(), namespace: readNamespace(r), params: readParams(r, ALLOWED.token) };
		case "SUBSCRIBE_NAMESPACE":
		case "SUBSCRIBE_TRACKS": {
			const allowed = type === "SUBSCRIBE_TRACKS" ? ALLOWED.subscribeTracks : ALLOWED.token;
			return { type, requestId: r.varint(), prefix: readNamespace(r), params: readParams(r, allowed) };
		}
		case "NAMESPACE":
		case "NAMESPACE_DONE":
			return { type, suffix: readNamespace(r) };
		case "PUBLISH_BLOCKED":
			return { type, track: readFullTrackName(r) };
	}
}

// [MOQT-18] Section 15.4, Setup Options
const SETUP_PATH = 0x01;
const SETUP_AUTHORIZATION_TOKEN = 0x03;
const SETUP_MAX_AUTH_TOKEN_CACHE_SIZE = 0x04;
const SETUP_AUTHORITY = 0x05;
const SETUP_IMPLEMENTATION = 0x07;

function setupOptions(m: Setup): Property[] {
	const list: Property[] = [...(m.other ?? [])];
	if (m.path !== undefined) list.push({ type: SETUP_PATH, bytes: encodeName(m.path) });
	for (const t of m.authTokens ?? []) list.push({ type: SETUP_AUTHORIZATION_TOKEN, bytes: encodeToken(t) });
	if (m.maxAuthTokenCacheSize !== undefined) {
		list.push({ type: SETUP_MAX_AUTH_TOKEN_CACHE_SIZE, uint: m.maxAuthTokenCacheSize });
	}
	if (m.authority !== undefined) list.push({ type: SETUP_AUTHORITY, bytes: encodeName(m.authority) });
	if (m.implementation !== undefined) list.push({ type: SETUP_IMPLEMENTATION, bytes: encodeName(m.implementation) });
	return list.sort((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : 0));
}

function readSetup(r: Reader): Setup {
	const m: Setup = { type: "SETUP" };
	// "Senders MUST NOT repeat the same Option Type in a message unless the option definition explicitly allows multiple
	// instances." [MOQT-18] Section 10.3, SETUP
	const once = (set: unknown, what: string) => {
		if (set !== undefined) throw violation(`setup option ${what} is repeated`);
	};
	for (const p of readProperties(r.rest())) {
		if (p.type === SETUP_PATH && p.bytes) {
			once(m.path, "PATH");
			m.path = decodeName(p.bytes);
		} else if (p.type === SETUP_AUTHORIZATION_TOKEN && p.bytes) {
			const t = decodeToken(p.bytes);
			// [MOQT-18] Section 10.2.2, AUTHORIZATION TOKEN Parameter
			if (t.aliasType === "DELETE" || t.aliasType === "USE_ALIAS") {
				throw violation("token in SETUP refers to an alias");
			}
			m.authTokens = (m.authTokens ?? []).concat(t);
		} else if (p.type === SETUP_MAX_AUTH_TOKEN_CACHE_SIZE) {
			once(m.maxAuthTokenCacheSize, "MAX_AUTH_TOKEN_CACHE_SIZE");
			m.maxAuthTokenCacheSize = p.uint as Uint;
		} else if (p.type === SETUP_AUTHORITY && p.bytes) {
			once(m.authority, "AUTHORITY");
			m.authority = decodeName(p.bytes);
		} else if (p.type === SETUP_IMPLEMENTATION && p.bytes) {
			once(m.implementation, "MOQT_IMPLEMENTATION");
			m.implementation = decodeName(p.bytes);
		} else {
			m.other = (m.other ?? []).concat(p);
		}
	}
	return m;
}

function writeReason(w: Writer, s: string): void {
	let b = encodeName(s);
	if (b.length > MAX_REASON) {
		// Cut at the border of a character.
		let end = MAX_REASON;
		while (((b[end] as number) & 0xc0) === 0x80) end--;
		b = b.subarray(0, end);
	}
	w.bytes(b);
}

function readReason(r: Reader): string {
	return decodeName(r.bytes(MAX_REASON, "reason phrase"));
}

function writeRequestError(w: Writer, m: RequestError): void {
	if ((m.code === RequestCode.REDIRECT) !== (m.redirect !== undefined)) {
		throw new InvalidValue(`redirect does not go with code ${m.code}`);
	}
	// "The minimum time (in milliseconds) before the request SHOULD be sent again, plus one. If the value is 0, the
	// request SHOULD NOT be retried." [MOQT-18] Section 10.6.2, REQUEST_ERROR Message Format
	w.varint(m.code).varint(m.retry === undefined ? 0 : add(m.retry, 1));
	writeReason(w, m.reason);
	if (!m.redirect) return;
	w.bytes(encodeName(m.redirect.connectUri));
	writeFullTrackName(w, m.redirect.track);
}

function readRequestError(r: Reader): RequestError {
	const m: RequestError = { type: "REQUEST_ERROR", code: r.varint(), reason: "" };
	const retry = r.varint();
	if (retry !== 0) m.retry = typeof retry === "number" ? retry - 1 : retry - 1n;
	m.reason = readReason(r);
	if (m.code === RequestCode.REDIRECT) {
		m.redirect = { connectUri: decodeName(r.bytes(MAX_URI, "connect URI")), track: readFullTrackName(r) };
	}
	return m;
}

// Types of Track Properties whose values have bounds. [MOQT-18] Section 15.8, Properties
const DEFAULT_PRIORITY = 0x0e;
const DEFAULT_GROUP_ORDER = 0x22;
const DYNAMIC_GROUPS = 0x30;

/** From here to MANDATORY_LAST: who does not understand it must not touch the track. [MOQT-18] Section 2.5.1 */
const MANDATORY_FIRST = 0x4000;
const MANDATORY_LAST = 0x7fff;

/** Reads Track Properties, which fill the rest of a body. */
function readTrackProperties(r: Reader): Property[] {
	const list = readProperties(r.rest().slice());
	const all = withImmutable(list);
	// [MOQT-18] Section 12.7, Immutable Properties
	if (all.slice(list.length).some((p) => p.type === PROPERTY_IMMUTABLE)) {
		throw new MalformedTrack("immutable properties inside themselves");
	}
	for (const p of all) {
		if (p.uint === undefined) continue;
		if (p.type === DEFAULT_PRIORITY && p.uint > 255) throw violation("DEFAULT_PUBLISHER_PRIORITY is above 255");
		if (p.type === DEFAULT_GROUP_ORDER && p.uint !== 1 && p.uint !== 2) {
			throw violation("DEFAULT_PUBLISHER_GROUP_ORDER is neither 1 nor 2");
		}
		if (p.type === DYNAMIC_GROUPS && p.uint > 1) throw violation("DYNAMIC_GROUPS is neither 0 nor 1");
	}
	return list;
}

/** The first property that this player would have to understand and does not. */
export function mandatoryProperty(list: Property[]): Uint | undefined {
	return list.find((p) => p.type >= MANDATORY_FIRST && p.type <= MANDATORY_LAST)?.type;
}
