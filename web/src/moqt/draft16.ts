import { Reader, Writer } from "../wire/bytes.ts";
import { SessionCode } from "../wire/codes.ts";
import { decodeDatagram, encodeDatagram, isPadding } from "../wire/datagram.ts";
import {
	encodeClientSetup,
	encodeRequestUpdate,
	encodeSubscribe,
	encodeSubscribeNamespace,
	encodeUnsubscribe,
	type Incoming16,
	QuicReader,
	readExtensions,
	readMessage16,
} from "../wire/draft16.ts";
import { ProtocolError, violation } from "../wire/errors.ts";
import { encodeProperties } from "../wire/kvp.ts";
import { encodeMessage, type Message, readMessage, type SubscribeNamespace } from "../wire/message.ts";
import { NO_PROPERTIES, SubgroupCursor } from "../wire/object.ts";
import { isSubgroupType, readSubgroupHeader, writeSubgroupHeader } from "../wire/subgroup.ts";
import type { Uint } from "../wire/uint.ts";
import { StreamReader } from "./stream.ts";
import type { BidirectionalStream, Transport } from "./transport.ts";

export const PROTOCOL_16 = "moqt-16";

/** A request of the session: a stream to it, and an id to the peer. */
interface Handle {
	id: Uint | undefined;
	answers: ReadableStreamDefaultController<Uint8Array>;
	/** The peer's last word has come, or ours was said. */
	over: boolean;
	/** Answers to REQUEST_UPDATE that are awaited, by their ids. */
	updates: Set<Uint>;
	cancel(reason: unknown): void;
}

/**
 * A transport on which the peer speaks draft-16 and a session draft-18, as a subscriber: it translates between the two.
 * What has a stream of its own there is told apart by its id on one control stream here. [MOQT-16] Section 3.3, Session initialization
 */
export class Draft16 implements Transport {
	readonly ready: Promise<unknown>;
	readonly closed: Promise<{ closeCode?: number; reason?: string }>;
	readonly protocol = PROTOCOL_16;
	readonly incomingUnidirectionalStreams: ReadableStream<ReadableStream<Uint8Array>>;
	/** The peer was granted no requests. */
	readonly incomingBidirectionalStreams = new ReadableStream<BidirectionalStream>();
	readonly datagrams: Transport["datagrams"];
	readonly getStats: Transport["getStats"];

	readonly #inner: Transport;
	#streams!: ReadableStreamDefaultController<ReadableStream<Uint8Array>>;
	#control: WritableStreamDefaultWriter<BufferSource> | undefined;
	/** The control stream that the session sees. */
	#setup: ReadableStreamDefaultController<Uint8Array> | undefined;
	readonly #handles = new Map<Uint, Handle>();
	readonly #updates = new Map<Uint, Handle>();
	#nextId = 0;
	#maxId: Uint = 0;
	#granted: () => void = () => undefined;
	/** Ids must reach the peer in order, so one request is sent after the other. */
	#turn: Promise<void> = Promise.resolve();

	constructor(inner: Transport) {
		this.#inner = inner;
		this.ready = inner.ready;
		this.closed = inner.closed;
		this.getStats = inner.getStats?.bind(inner);
		this.incomingUnidirectionalStreams = new ReadableStream({
			start: (c) => {
				this.#streams = c;
			},
		});
		const readable = inner.datagrams.readable.pipeThrough(
			new TransformStream<Uint8Array, Uint8Array>({ transform: (b, c) => this.#datagram(b, c) }),
		);
		this.datagrams = { readable, maxDatagramSize: inner.datagrams.maxDatagramSize };
	}

	close(info?: { closeCode?: number; reason?: string }): void {
		this.#inner.close(info);
	}

	/** The session's control stream. It opens no other ones. */
	async createUnidirectionalStream(): Promise<WritableStream<BufferSource>> {
		if (this.#control) throw new Error("tracks cannot be sent in this version");
		const stream = await this.#inner.createBidirectionalStream();
		const out = stream.writable.getWriter();
		this.#control = out;
		this.#guard(this.#readControl(new StreamReader(stream.readable, QuicReader)));
		this.#guard(this.#acceptStreams());
		return new WritableStream<BufferSource>({
			write: async (b) => {
				const m = parse(b);
				if (m.type === "SETUP") await out.write(encodeClientSetup(m.implementation ?? ""));
			},
		});
	}

	async createBidirectionalStream(): Promise<BidirectionalStream> {
		let answers!: ReadableStreamDefaultController<Uint8Array>;
		const cancel = (reason: unknown) => handle.cancel(reason);
		const readable = new ReadableStream<Uint8Array>({
			start: (c) => {
				answers = c;
			},
			cancel,
		});
		const handle: Handle = {
			id: undefined,
			answers,
			over: false,
			updates: new Set(),
			cancel: () => this.#leave(handle),
		};
		const writable = new WritableStream<BufferSource>({ write: (b) => this.#send(handle, parse(b)), abort: cancel });
		return { readable, writable };
	}

	/** Ends the session for a fault of the peer. */
	#guard(part: Promise<void>): void {
		part.catch((err) => {
			const code = err instanceof ProtocolError ? err.code : SessionCode.INTERNAL_ERROR;
			this.close({ closeCode: Number(code), reason: err instanceof Error ? err.message : String(err) });
		});
	}

	async #send(h: Handle, m: Message): Promise<void> {
		const turn = this.#turn;
		let next!: () => void;
		this.#turn = new Promise((resolve) => {
			next = resolve;
		});
		await turn;
		try {
			// "The default value is 0, so if not specified, the peer MUST NOT send requests."
			// [MOQT-16] Section 9.3.1.3, MAX_REQUEST_ID
			while (this.#nextId >= this.#maxId) {
				await new Promise<void>((resolve) => {
					this.#granted = resolve;
				});
			}
			if (h.over) return;
			const id = this.#nextId;
			this.#nextId += 2;
			if (m.type === "SUBSCRIBE") {
				h.id = id;
				this.#handles.set(id, h);
				await this.#control?.write(encodeSubscribe(id, m));
			} else if (m.type === "REQUEST_UPDATE" && h.id !== undefined) {
				this.#updates.set(id, h);
				await this.#control?.write(encodeRequestUpdate(id, h.id, m.params));
			} else if (m.type === "SUBSCRIBE_NAMESPACE") {
				await this.#namespaces(h, id, m);
			} else {
				throw new Error(`${m.type} is not for this version`);
			}
		} finally {
			next();
		}
	}

	/** SUBSCRIBE_NAMESPACE has a stream of its own in draft-16 too. It resolves with the first answer. */
	async #namespaces(h: Handle, id: Uint, m: SubscribeNamespace): Promise<void> {
		const stream = await this.#inner.createBidirectionalStream();
		const writer = stream.writable.getWriter();
		const reader = new StreamReader(stream.readable, QuicReader);
		h.cancel = (reason) => {
			h.over = true;
			reader.cancel(reason as Error);
			writer.abort(reason).catch(() => undefined);
		};
		await writer.write(encodeSubscribeNamespace(id, m));
		const next = async (): Promise<boolean> => {
			const a = await reader.parse(readMessage16);
			if (!a || h.over) return false;
			if (a.type !== "NAMESPACE" && !(a.type === "ANSWER" && a.requestId === id)) {
				throw violation(`${a.type} on the stream of a SUBSCRIBE_NAMESPACE`);
			}
			h.answers.enqueue(encodeMessage(a.message));
			return true;
		};
		const rest = async (more: boolean) => {
			try {
				while (more) more = await next();
				if (!h.over) h.answers.close();
			} catch (err) {
				if (err instanceof ProtocolError) throw err;
				if (!h.over) h.answers.error(err);
			}
			h.over = true;
		};
		// What follows the first answer is nobody's turn.
		this.#guard(rest(await next().catch(() => false)));
	}

	/** The session has left a request. */
	#leave(h: Handle): void {
		if (h.over) return;
		h.over = true;
		if (h.id === undefined) return;
		this.#handles.delete(h.id);
		this.#control?.write(encodeUnsubscribe(h.id)).catch(() => undefined);
	}

	async #readControl(reader: StreamReader): Promise<void> {
		try {
			for (;;) {
				const m = await reader.parse(readMessage16);
				if (!m) break;
				this.#message(m);
			}
		} catch (err) {
			if (err instanceof ProtocolError) throw err;
		}
		this.#setup?.close();
	}

	#message(m: Incoming16): void {
		if ((m.type === "SERVER_SETUP") !== (this.#setup === undefined)) throw violation(`${m.type} at this point`);
		switch (m.type) {
			case "SERVER_SETUP":
				this.#streams.enqueue(
					new ReadableStream({
						start: (c) => {
							this.#setup = c;
							c.enqueue(encodeMessage({ type: "SETUP" }));
						},
					}),
				);
				this.#grant(m.maxRequestId);
				return;
			case "MAX_REQUEST_ID":
				if (m.maxRequestId <= this.#maxId) throw violation("MAX_REQUEST_ID does not grow");
				this.#grant(m.maxRequestId);
				return;
			case "GOAWAY":
				this.#setup?.enqueue(encodeMessage({ type: "GOAWAY", newSessionUri: m.uri, timeout: 0, requestId: 0 }));
				return;
			case "NAMESPACE":
				throw violation("NAMESPACE on the control stream");
			case "ANSWER":
				this.#answer(m.requestId, m.message);
				return;
		}
	}

	#grant(max: Uint): void {
		this.#maxId = max;
		this.#granted();
	}

	#answer(id: Uint, m: Message): void {
		const h = this.#handles.get(id) ?? this.#updates.get(id);
		this.#updates.delete(id);
		// An answer may cross with UNSUBSCRIBE.
		if (!h || h.over) return;
		h.answers.enqueue(encodeMessage(m));
		if (m.type !== "PUBLISH_DONE" && m.type !== "REQUEST_ERROR") return;
		h.over = true;
		h.answers.close();
		this.#handles.delete(id);
	}

	async #acceptStreams(): Promise<void> {
		const streams = this.#inner.incomingUnidirectionalStreams.getReader();
		for (;;) {
			const { value, done } = await streams.read().catch(() => ({ value: undefined, done: true }));
			if (done || !value) return;
			this.#streams.enqueue(translate(value));
		}
	}

	#datagram(b: Uint8Array, c: TransformStreamDefaultController<Uint8Array>): void {
		const d = decodeDatagram(b, QuicReader);
		const properties = encodeProperties(readExtensions(d.properties));
		const out = encodeDatagram({ ...d, properties });
		if (!isPadding(out)) c.enqueue(out);
	}
}

function parse(b: BufferSource): Message {
	const bytes = b instanceof ArrayBuffer ? new Uint8Array(b) : new Uint8Array(b.buffer, b.byteOffset, b.byteLength);
	return readMessage(new Reader(bytes));
}

/** A subgroup stream of draft-16 as one of draft-18, object by object. */
function translate(stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
	const reader = new StreamReader(stream, QuicReader);
	let cursors: { from: SubgroupCursor; to: SubgroupCursor } | undefined;
	const header = async (w: Writer): Promise<boolean> => {
		const h = await reader.parse((r) => {
			const at = r.at;
			const type = r.varint();
			r.at = at;
			// [MOQT-16] Section 10.4.2, Subgroup Header
			if (!isSubgroupType(type) || type >= 0x40) throw violation(`stream type 0x${type.toString(16)}`);
			return readSubgroupHeader(r);
		});
		if (!h) return false;
		cursors = { from: new SubgroupCursor(h.hasProperties), to: new SubgroupCursor(h.hasProperties) };
		writeSubgroupHeader(w, h);
		return true;
	};
	const object = async (w: Writer, c: { from: SubgroupCursor; to: SubgroupCursor }): Promise<boolean> => {
		const o = await reader.parse((r) => c.from.read(r));
		if (!o) return false;
		const properties = o.properties.length > 0 ? encodeProperties(readExtensions(o.properties)) : NO_PROPERTIES;
		c.to.write(w, { ...o, properties });
		w.raw(await reader.bytes(o.payloadLength));
		return true;
	};
	return new ReadableStream<Uint8Array>({
		pull: async (c) => {
			const w = new Writer();
			if (await (cursors ? object(w, cursors) : header(w))) c.enqueue(w.take());
			else c.close();
		},
		cancel: (reason) => reader.cancel(reason),
	});
}
