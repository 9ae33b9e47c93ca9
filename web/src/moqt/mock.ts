import type { BidirectionalStream, Transport } from "./transport.ts";

// A pair of transports in memory, for tests. What one end sends comes out of the other one; a cancelled stream makes
// the other end's writes fail, and an aborted one its reads.

interface Pipe {
	readable: ReadableStream<Uint8Array>;
	writable: WritableStream<BufferSource>;
	/** What the reader cancelled with, once it has. */
	cancelled: Promise<unknown>;
}

function toBytes(x: BufferSource): Uint8Array {
	return x instanceof ArrayBuffer ? new Uint8Array(x) : new Uint8Array(x.buffer, x.byteOffset, x.byteLength).slice();
}

export function pipe(): Pipe {
	let source!: ReadableStreamDefaultController<Uint8Array>;
	let sink!: WritableStreamDefaultController;
	let cancel!: (reason: unknown) => void;
	const cancelled = new Promise((resolve) => {
		cancel = resolve;
	});
	const readable = new ReadableStream<Uint8Array>({
		start: (c) => {
			source = c;
		},
		cancel: (reason) => {
			cancel(reason);
			sink.error(reason);
		},
	});
	const writable = new WritableStream<BufferSource>({
		start: (c) => {
			sink = c;
		},
		write: (x) => source.enqueue(toBytes(x)),
		close: () => source.close(),
		abort: (reason) => source.error(reason),
	});
	return { readable, writable, cancelled };
}

/** One end of a pair, with what a scripted peer needs. */
export class MockTransport implements Transport {
	readonly ready = Promise.resolve();
	readonly closed: Promise<{ closeCode?: number; reason?: string }>;
	readonly protocol: string;
	readonly incomingUnidirectionalStreams: ReadableStream<ReadableStream<Uint8Array>>;
	readonly incomingBidirectionalStreams: ReadableStream<BidirectionalStream>;
	readonly datagrams: Transport["datagrams"];
	/** What unidirectional streams of ours were cancelled with by the peer, in the order they were opened. */
	readonly cancelled: Promise<unknown>[] = [];

	peer!: MockTransport;
	#uni!: ReadableStreamDefaultController<ReadableStream<Uint8Array>>;
	#bidi!: ReadableStreamDefaultController<BidirectionalStream>;
	#datagrams!: ReadableStreamDefaultController<Uint8Array>;
	#settle!: (info: { closeCode?: number; reason?: string }) => void;
	#over = false;

	constructor(protocol: string) {
		this.protocol = protocol;
		this.closed = new Promise((resolve) => {
			this.#settle = resolve;
		});
		this.incomingUnidirectionalStreams = new ReadableStream({
			start: (c) => {
				this.#uni = c;
			},
		});
		this.incomingBidirectionalStreams = new ReadableStream({
			start: (c) => {
				this.#bidi = c;
			},
		});
		this.datagrams = {
			readable: new ReadableStream<Uint8Array>({
				start: (c) => {
					this.#datagrams = c;
				},
			}),
			writable: new WritableStream<BufferSource>({ write: (x) => this.peer.#datagrams.enqueue(toBytes(x)) }),
			maxDatagramSize: 1200,
		};
	}

	async createUnidirectionalStream(): Promise<WritableStream<BufferSource>> {
		const p = pipe();
		this.cancelled.push(p.cancelled);
		this.peer.#uni.enqueue(p.readable);
		return p.writable;
	}

	async createBidirectionalStream(): Promise<BidirectionalStream> {
		const there = pipe();
		const back = pipe();
		this.peer.#bidi.enqueue({ readable: there.readable, writable: back.writable });
		return { readable: back.readable, writable: there.writable };
	}

	close(info: { closeCode?: number; reason?: string } = {}): void {
		for (const t of [this, this.peer]) {
			if (t.#over) continue;
			t.#over = true;
			t.#uni.close();
			t.#bidi.close();
			t.#datagrams.close();
			t.#settle(info);
		}
	}
}

export function mockPair(protocol = "moqt-18"): { client: MockTransport; server: MockTransport } {
	const client = new MockTransport(protocol);
	const server = new MockTransport(protocol);
	client.peer = server;
	server.peer = client;
	return { client, server };
}
