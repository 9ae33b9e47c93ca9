import { Writer } from "../wire/bytes.ts";
import { type Code, SessionCode, StreamCode } from "../wire/codes.ts";
import { type Datagram, decodeDatagram, isPadding } from "../wire/datagram.ts";
import { MalformedTrack, ProtocolError, TooLarge, violation } from "../wire/errors.ts";
import {
	checkFits,
	checkGoAway,
	checkRedirect,
	checkServerSetup,
	encodeMessage,
	type GoAway,
	type Message,
	mandatoryProperty,
	type RequestType,
	readMessage,
	type SubscribeOk,
} from "../wire/message.ts";
import type { FullTrackName, Namespace } from "../wire/namespace.ts";
import { NO_PROPERTIES, SubgroupCursor } from "../wire/object.ts";
import type { Params } from "../wire/params.ts";
import { STREAM_FETCH, streamKind } from "../wire/stream.ts";
import { readSubgroupHeader, writeSubgroupHeader } from "../wire/subgroup.ts";
import type { Uint } from "../wire/uint.ts";
import { Draft16, PROTOCOL_16 } from "./draft16.ts";
import { RequestFailed, SessionClosed, TrackDone } from "./errors.ts";
import { StreamReader } from "./stream.ts";
import { IncomingSubgroup, type Subscription, type TrackHandler } from "./subscription.ts";
import { type BidirectionalStream, PROTOCOLS, streamError, type Transport } from "./transport.ts";

/** How long a stream or datagram may wait for the SUBSCRIBE_OK that says whose it is, in milliseconds. */
const ALIAS_WAIT = 1000;
/** How many of each may wait. */
const MAX_WAITING = 128;
/** How long the relay may take to send its SETUP, in milliseconds. */
const SETUP_TIMEOUT = 5000;

export interface SessionConfig {
	/** Sent as MOQT_IMPLEMENTATION. */
	implementation?: string;
	/** The relay asks to move to another session; it will close this one. */
	onGoAway?: (m: GoAway) => void;
	/** A request of the relay. Without it every request is refused. */
	onRequest?: (request: IncomingRequest) => void;
	/** Versions to offer, the preferred one first. Default: all. Tracks can be sent in the first one only. */
	protocols?: string[];
}

/** A request of the peer, with the stream on which it is answered. */
export interface IncomingRequest {
	message: Message;
	reply(m: Message): void;
	/** The peer changes the request; it has been told that this is well. */
	onUpdate: (params: Params) => void;
	/** Resolves when the peer has ended the request. */
	ended: Promise<void>;
	/** Ends our side of the request's stream. */
	close(): void;
}

/** What a subscription to namespaces gives. */
export interface NamespaceHandler {
	added(suffix: Namespace): void;
	removed(suffix: Namespace): void;
}

export interface NamespaceSubscription {
	/** Resolves when it is over, with the reason. */
	readonly done: Promise<Error | undefined>;
	close(): void;
}

/** A track that is sent from here. */
export interface PublishedTrack {
	/** Rejects with RequestFailed or SessionClosed. */
	readonly ok: Promise<void>;
	/** Resolves when the peer wants no more, with the reason. */
	readonly done: Promise<Error | undefined>;
	/** Sends a group of one object. */
	write(group: number, payload: Uint8Array): Promise<void>;
	close(): void;
}

interface Waiting<T> {
	alias: Uint;
	item: T;
	timer: ReturnType<typeof setTimeout>;
}

/**
 * A MOQT session in the role of the client. Open it, subscribe, and close it; closed tells when it is over.
 * [MOQT-18] Section 3, Sessions
 */
export class Session {
	readonly transport: Transport;
	/** Resolves with the reason when the session is over. */
	readonly closed: Promise<SessionClosed>;

	readonly #config: SessionConfig;
	readonly #tracks = new Map<Uint, TrackHandler>();
	readonly #waitingStreams: Waiting<IncomingSubgroup>[] = [];
	readonly #waitingDatagrams: Waiting<Datagram>[] = [];
	readonly #requests = new Set<Request>();
	#nextId = 0;
	/** Aliases of tracks offered here; those of a Broadcast, which a session may serve too, are below. */
	#nextAlias = 1 << 20;
	#end: SessionClosed | undefined;
	#ended!: (reason: SessionClosed) => void;
	#gotSetup = false;
	#gotGoAway = false;

	private constructor(transport: Transport, config: SessionConfig) {
		this.transport = transport;
		this.#config = config;
		this.closed = new Promise((resolve) => {
			this.#ended = resolve;
		});
	}

	/** Begins a session on a transport that is ready or will be. */
	static async open(transport: Transport, config: SessionConfig = {}): Promise<Session> {
		await transport.ready;
		// Some browsers do not tell the protocol; then the SETUP will.
		if (transport.protocol !== undefined && !PROTOCOLS.includes(transport.protocol)) {
			transport.close({ closeCode: SessionCode.VERSION_NEGOTIATION_FAILED, reason: "no common MOQT version" });
			throw new SessionClosed(
				SessionCode.VERSION_NEGOTIATION_FAILED,
				`the server speaks none of ${PROTOCOLS.join(", ")}`,
			);
		}
		const s = new Session(transport.protocol === PROTOCOL_16 ? new Draft16(transport) : transport, config);
		transport = s.transport;
		s.#watchTransport();
		try {
			const control = (await transport.createUnidirectionalStream()).getWriter();
			s.#run(s.#acceptStreams());
			s.#run(s.#acceptRequests());
			s.#run(s.#receiveDatagrams());
			await control.write(encodeMessage({ type: "SETUP", implementation: config.implementation ?? "moq-c4-web" }));
		} catch (err) {
			s.#fail(err);
			throw s.#end ?? err;
		}
		setTimeout(() => {
			if (!s.#gotSetup) s.close(SessionCode.CONTROL_MESSAGE_TIMEOUT, "no SETUP came");
		}, SETUP_TIMEOUT);
		return s;
	}

	/** Closes the session. The first reason counts. */
	close(code: Code = SessionCode.NO_ERROR, reason = ""): void {
		if (this.#end) return;
		this.#finish(new SessionClosed(code, reason));
		try {
			this.transport.close({ closeCode: Number(code), reason });
		} catch {
			// It was closed already.
		}
	}

	/** Asks for a track. Its objects go to the handler, and may do so before ok resolves. */
	subscribe(track: FullTrackName, params: Params, handler: TrackHandler): Subscription {
		const request = this.#request("SUBSCRIBE", (requestId) => ({ type: "SUBSCRIBE", requestId, track, params }));
		let alias: Uint | undefined;
		const ok = request.first.then((m): SubscribeOk => {
			if (m.type !== "SUBSCRIBE_OK") throw violation(`${m.type} in answer to SUBSCRIBE`);
			const unknown = mandatoryProperty(m.properties);
			if (unknown !== undefined) {
				request.cancel(new Error(`the track needs the extension 0x${unknown.toString(16)}`));
				throw new Error(`the track needs an extension that is not known, 0x${unknown.toString(16)}`);
			}
			if (this.#tracks.has(m.trackAlias)) {
				throw new ProtocolError(SessionCode.DUPLICATE_TRACK_ALIAS, `alias ${m.trackAlias} is in use`);
			}
			alias = m.trackAlias;
			this.#tracks.set(alias, handler);
			this.#deliverWaiting(alias, handler);
			return m;
		});
		ok.catch((err) => this.#failIfProtocol(err));
		request.onMessage = (m) => {
			if (m.type === "PUBLISH_DONE") {
				request.finish(new TrackDone(m.status, m.reason));
				return;
			}
			throw violation(`${m.type} on the stream of a SUBSCRIBE`);
		};
		const done = request.done.then((reason) => {
			// Objects of a track that has ended may still be on their way.
			setTimeout(() => {
				if (alias !== undefined && this.#tracks.get(alias) === handler) this.#tracks.delete(alias);
			}, ALIAS_WAIT);
			return reason;
		});
		return {
			track,
			ok,
			done,
			update: async (p) => {
				const answer = await request.update(this.#takeId(), p);
				if (answer.type === "REQUEST_ERROR") throw new RequestFailed(answer.code, answer.reason, answer.retry);
			},
			close: () => request.cancel(undefined),
		};
	}

	/** Offers a track that is sent from here, one object to a group. */
	publish(track: FullTrackName): PublishedTrack {
		const alias = this.#nextAlias++;
		let forward = true;
		const request = this.#request("PUBLISH", (requestId) => ({
			type: "PUBLISH",
			requestId,
			track,
			trackAlias: alias,
			params: {},
			properties: [],
		}));
		const ok = request.first.then((m) => {
			if (m.type === "REQUEST_OK") forward = m.params.forward ?? true;
		});
		ok.catch((err) => this.#failIfProtocol(err));
		request.onUpdate = (p) => {
			forward = p.forward ?? forward;
		};
		request.onMessage = (m) => {
			throw violation(`${m.type} on the stream of a PUBLISH`);
		};
		return {
			ok,
			done: request.done,
			write: async (group, payload) => {
				if (!forward) return;
				const w = new Writer();
				const header = { trackAlias: alias, groupId: group, idMode: "zero", hasProperties: false } as const;
				writeSubgroupHeader(w, { ...header, endOfGroup: true, firstObject: true });
				const object = { id: 0, properties: NO_PROPERTIES, payloadLength: payload.length, status: 0 };
				new SubgroupCursor(false).write(w, object);
				const stream = (await this.transport.createUnidirectionalStream()).getWriter();
				await stream.write(w.raw(payload).take());
				await stream.close();
			},
			close: () => request.cancel(undefined),
		};
	}

	/** Asks which namespaces there are under a prefix. */
	subscribeNamespace(prefix: Namespace, handler: NamespaceHandler): NamespaceSubscription {
		const request = this.#request("SUBSCRIBE_NAMESPACE", (requestId) => ({
			type: "SUBSCRIBE_NAMESPACE",
			requestId,
			prefix,
			params: {},
		}));
		request.first.catch((err) => this.#failIfProtocol(err));
		const known = new Set<string>();
		request.onMessage = (m) => {
			if (m.type !== "NAMESPACE" && m.type !== "NAMESPACE_DONE") {
				throw violation(`${m.type} on the stream of a SUBSCRIBE_NAMESPACE`);
			}
			const key = JSON.stringify(m.suffix);
			if (m.type === "NAMESPACE") {
				known.add(key);
				handler.added(m.suffix);
			} else if (known.delete(key)) {
				handler.removed(m.suffix);
			} else {
				throw violation("NAMESPACE_DONE without NAMESPACE");
			}
		};
		return { done: request.done, close: () => request.cancel(undefined) };
	}

	/** Says that there are tracks under a namespace, until the result is closed. */
	publishNamespace(namespace: Namespace): NamespaceSubscription & { ok: Promise<void> } {
		const request = this.#request("PUBLISH_NAMESPACE", (requestId) => ({
			type: "PUBLISH_NAMESPACE",
			requestId,
			namespace,
			params: {},
		}));
		request.first.catch((err) => this.#failIfProtocol(err));
		request.onMessage = (m) => {
			throw violation(`${m.type} on the stream of a PUBLISH_NAMESPACE`);
		};
		return { ok: request.first.then(() => undefined), done: request.done, close: () => request.cancel(undefined) };
	}

	#takeId(): number {
		const id = this.#nextId;
		this.#nextId += 2; // those of the server are odd
		return id;
	}

	#request(type: RequestType, make: (id: number) => Message): Request {
		const request = new Request(type);
		if (this.#end) {
			request.finish(this.#end);
			return request;
		}
		this.#requests.add(request);
		const message = encodeMessage(make(this.#takeId()));
		this.#run(
			(async () => {
				try {
					const stream = await this.transport.createBidirectionalStream();
					await request.run(stream, message);
				} finally {
					this.#requests.delete(request);
					request.finish(this.#end ?? new SessionClosed(undefined, "the request's stream has ended"));
				}
			})(),
		);
		return request;
	}

	/** Runs a part of the session; if it fails by a fault of the peer, the session is over. */
	#run(part: Promise<void>): void {
		part.catch((err) => this.#failIfProtocol(err));
	}

	#failIfProtocol(err: unknown): void {
		if (err instanceof ProtocolError) this.#fail(err);
	}

	#fail(err: unknown): void {
		if (err instanceof ProtocolError) this.close(err.code, err.message);
		else this.close(SessionCode.INTERNAL_ERROR, err instanceof Error ? err.message : String(err));
	}

	#finish(reason: SessionClosed): void {
		if (this.#end) return;
		this.#end = reason;
		for (const w of [...this.#waitingStreams, ...this.#waitingDatagrams]) clearTimeout(w.timer);
		this.#waitingStreams.length = 0;
		this.#waitingDatagrams.length = 0;
		this.#tracks.clear();
		for (const request of this.#requests) request.finish(reason);
		this.#ended(reason);
	}

	#watchTransport(): void {
		this.transport.closed.then(
			(info) => this.#finish(new SessionClosed(info?.closeCode ?? 0, info?.reason ?? "")),
			(err) => this.#finish(new SessionClosed(undefined, err instanceof Error ? err.message : String(err))),
		);
	}

	async #acceptStreams(): Promise<void> {
		const streams = this.transport.incomingUnidirectionalStreams.getReader();
		for (;;) {
			const { value, done } = await streams.read().catch(() => ({ value: undefined, done: true }));
			if (done || !value) return;
			this.#run(this.#receiveStream(value));
		}
	}

	async #receiveStream(stream: ReadableStream<Uint8Array>): Promise<void> {
		const reader = new StreamReader(stream);
		let type: Uint | undefined;
		try {
			// The type is part of the header; so it is looked at, not taken.
			type = await reader.parse((r) => {
				const at = r.at;
				const x = r.varint();
				r.at = at;
				return x;
			});
		} catch (err) {
			if (err instanceof ProtocolError) throw err;
			return; // reset before it began
		}
		if (type === undefined) return;
		switch (streamKind(type)) {
			case "control":
				return this.#control(reader);
			case "subgroup":
				return this.#subgroup(reader);
			case "padding":
				return reader.drain().catch(() => undefined);
			default:
				// "An endpoint that receives an unknown stream type MUST close the session."
				// [MOQT-18] Section 3.4, Unidirectional Stream Types
				throw violation(
					type === STREAM_FETCH ? "a FETCH that was not asked for" : `unknown stream type 0x${type.toString(16)}`,
				);
		}
	}

	async #control(reader: StreamReader): Promise<void> {
		if (this.#gotSetup) throw violation("a second control stream");
		try {
			for (;;) {
				const m = await reader.parse(readMessage);
				if (!m) break;
				if (m.type === "SETUP" && !this.#gotSetup) {
					checkServerSetup(m);
					this.#gotSetup = true;
				} else if (m.type === "GOAWAY" && this.#gotSetup) {
					checkGoAway(m, true, false);
					if (this.#gotGoAway) throw violation("a second GOAWAY");
					this.#gotGoAway = true;
					this.#config.onGoAway?.(m);
				} else {
					throw violation(`${m.type} on the control stream`);
				}
			}
		} catch (err) {
			if (err instanceof ProtocolError) throw err;
			if (this.#end) return;
		}
		// [MOQT-18] Section 3.3, Session initialization
		await new Promise((resolve) => setTimeout(resolve, 100)); // the session's own end may be right behind it
		if (!this.#end) throw violation("the control stream has ended");
	}

	async #subgroup(reader: StreamReader): Promise<void> {
		const header = await reader.parse(readSubgroupHeader).catch((err) => {
			if (err instanceof ProtocolError) throw err;
			return undefined; // reset
		});
		if (!header) return;
		const s = new IncomingSubgroup(header, reader);
		const handler = this.#tracks.get(header.trackAlias);
		if (handler) this.#hand(handler, s);
		else if (!this.#wait(this.#waitingStreams, header.trackAlias, s, (x) => x.cancel())) s.cancel();
	}

	#hand(handler: TrackHandler, s: IncomingSubgroup): void {
		const reading = handler.subgroup(s);
		if (reading) this.#run(reading);
	}

	async #receiveDatagrams(): Promise<void> {
		const reader = this.transport.datagrams.readable.getReader();
		for (;;) {
			const { value, done } = await reader.read().catch(() => ({ value: undefined, done: true }));
			if (done || !value) return;
			try {
				if (isPadding(value)) continue;
				const d = decodeDatagram(value);
				const handler = this.#tracks.get(d.trackAlias);
				if (handler) handler.datagram(d);
				else this.#wait(this.#waitingDatagrams, d.trackAlias, d, () => undefined);
			} catch (err) {
				if (!(err instanceof TooLarge) && !(err instanceof MalformedTrack)) throw err;
			}
		}
	}

	/** Keeps what belongs to a track whose SUBSCRIBE_OK is still on its way. */
	#wait<T>(list: Waiting<T>[], alias: Uint, item: T, drop: (item: T) => void): boolean {
		if (this.#end || list.length >= MAX_WAITING) return false;
		const w: Waiting<T> = {
			alias,
			item,
			timer: setTimeout(() => {
				list.splice(list.indexOf(w), 1);
				drop(item);
			}, ALIAS_WAIT),
		};
		list.push(w);
		return true;
	}

	#deliverWaiting(alias: Uint, handler: TrackHandler): void {
		const take = <T>(list: Waiting<T>[]): T[] => {
			const mine = list.filter((w) => w.alias === alias);
			for (const w of mine) {
				clearTimeout(w.timer);
				list.splice(list.indexOf(w), 1);
			}
			return mine.map((w) => w.item);
		};
		for (const s of take(this.#waitingStreams)) this.#hand(handler, s);
		for (const d of take(this.#waitingDatagrams)) handler.datagram(d);
	}

	async #acceptRequests(): Promise<void> {
		const streams = this.transport.incomingBidirectionalStreams.getReader();
		for (;;) {
			const { value, done } = await streams.read().catch(() => ({ value: undefined, done: true }));
			if (done || !value) return;
			this.#run(this.#receiveRequest(value));
		}
	}

	async #receiveRequest(stream: BidirectionalStream): Promise<void> {
		const reader = new StreamReader(stream.readable);
		const writer = stream.writable.getWriter();
		let message: Message | undefined;
		try {
			message = await reader.parse(readMessage);
		} catch (err) {
			if (err instanceof ProtocolError) throw err;
		}
		if (!message) return;
		const reply = (m: Message) => void writer.write(encodeMessage(m)).catch(() => undefined);
		const close = () => void writer.close().catch(() => undefined);
		if (this.#config.onRequest) {
			let end!: () => void;
			const ended = new Promise<void>((resolve) => {
				end = resolve;
			});
			const request: IncomingRequest = { message, reply, ended, close, onUpdate: () => undefined };
			this.#config.onRequest(request);
			try {
				for (let m = await reader.parse(readMessage); m; m = await reader.parse(readMessage)) {
					if (m.type !== "REQUEST_UPDATE") throw violation(`${m.type} on the stream of a ${message.type}`);
					checkFits(m, message.type);
					reply({ type: "REQUEST_OK", params: {}, properties: [] });
					request.onUpdate(m.params);
				}
			} catch (err) {
				if (err instanceof ProtocolError) throw err;
			} finally {
				end();
			}
			return;
		}
		reply({ type: "REQUEST_ERROR", code: 0x3, reason: "a player takes no requests" });
		close();
	}
}

/** A request that we sent, on a stream of its own. */
class Request {
	/** The first answer; rejects with RequestFailed, or the reason of the end if none came. */
	readonly first: Promise<Message>;
	/** Resolves with the reason of the end; undefined if it was ours. */
	readonly done: Promise<Error | undefined>;
	onMessage: (m: Message) => void = () => undefined;
	/** The peer changes a request of ours, as the subscriber of a PUBLISH may. Unset: it must not. */
	onUpdate: ((params: Params) => void) | undefined;

	readonly #type: RequestType;
	readonly #updates: ((m: Message) => void)[] = [];
	#answer!: { resolve: (m: Message) => void; reject: (err: Error) => void };
	#finished!: (reason: Error | undefined) => void;
	#over = false;
	#cancelled = false;
	#reader: StreamReader | undefined;
	#writer: WritableStreamDefaultWriter<BufferSource> | undefined;

	constructor(type: RequestType) {
		this.#type = type;
		this.first = new Promise((resolve, reject) => {
			this.#answer = { resolve, reject };
		});
		this.first.catch(() => undefined);
		this.done = new Promise((resolve) => {
			this.#finished = resolve;
		});
	}

	async run(stream: BidirectionalStream, message: Uint8Array<ArrayBuffer>): Promise<void> {
		this.#reader = new StreamReader(stream.readable);
		this.#writer = stream.writable.getWriter();
		if (this.#cancelled) {
			this.#abort();
			return;
		}
		try {
			await this.#writer.write(message);
			let answered = false;
			for (;;) {
				const m = await this.#reader.parse(readMessage);
				if (!m || this.#over) return;
				if (m.type === "GOAWAY") {
					checkGoAway(m, false, false);
				} else if (!answered) {
					answered = true;
					this.#first(m);
				} else if (m.type === "REQUEST_OK" || m.type === "REQUEST_ERROR") {
					this.#updated(m);
				} else if (m.type === "REQUEST_UPDATE" && this.onUpdate) {
					checkFits(m, this.#type);
					this.onUpdate(m.params);
					await this.#writer.write(encodeMessage({ type: "REQUEST_OK", params: {}, properties: [] }));
				} else {
					this.onMessage(m);
				}
			}
		} catch (err) {
			if (err instanceof ProtocolError) {
				this.finish(err);
				throw err;
			}
			this.finish(err instanceof Error ? err : new Error(String(err)));
		}
	}

	#first(m: Message): void {
		if (m.type === "REQUEST_ERROR") {
			checkRedirect(m, this.#type, false);
			this.finish(new RequestFailed(m.code, m.reason, m.retry));
			return;
		}
		if (m.type === "REQUEST_OK") checkFits(m, this.#type);
		else if (this.#type !== "SUBSCRIBE") throw violation(`${m.type} in answer to ${this.#type}`);
		this.#answer.resolve(m);
	}

	#updated(m: Message): void {
		const waiter = this.#updates.shift();
		if (!waiter) throw violation(`${m.type} that answers nothing`);
		if (m.type === "REQUEST_OK") checkFits(m, "REQUEST_UPDATE");
		waiter(m);
	}

	async update(requestId: number, params: Params): Promise<Message> {
		await this.first;
		if (this.#over || !this.#writer) throw new Error("the request is over");
		const answer = new Promise<Message>((resolve) => this.#updates.push(resolve));
		await this.#writer.write(encodeMessage({ type: "REQUEST_UPDATE", requestId, params }));
		const reason = this.done.then((err): Message => {
			throw err ?? new Error("cancelled");
		});
		return Promise.race([answer, reason]);
	}

	/** Ends the request from our side. */
	cancel(reason: Error | undefined): void {
		this.#cancelled = true;
		this.finish(reason);
	}

	finish(reason: Error | undefined): void {
		if (this.#over) return;
		this.#over = true;
		this.#abort();
		this.#answer.reject(reason ?? new Error("cancelled"));
		this.#finished(reason);
	}

	#abort(): void {
		// Resetting both sides is how a subscriber leaves. [MOQT-18] Section 5.1, Subscriptions
		const err = streamError(StreamCode.CANCELLED, "cancelled");
		this.#reader?.cancel(err);
		this.#writer?.abort(err).catch(() => undefined);
	}
}
