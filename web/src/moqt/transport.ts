/** What a session needs of a WebTransport. mock.ts has another one, for tests. */
export interface Transport {
	readonly ready: Promise<unknown>;
	/** Settles when the connection is over: resolves if it was closed in order, rejects otherwise. */
	readonly closed: Promise<{ closeCode?: number; reason?: string }>;
	readonly incomingUnidirectionalStreams: ReadableStream<ReadableStream<Uint8Array>>;
	readonly incomingBidirectionalStreams: ReadableStream<BidirectionalStream>;
	readonly datagrams: {
		readonly readable: ReadableStream<Uint8Array>;
		readonly writable?: WritableStream<BufferSource>;
		createWritable?(): WritableStream<BufferSource>;
		readonly maxDatagramSize: number;
	};
	/** The protocol chosen by the server; absent in browsers that do not tell. */
	readonly protocol?: string;
	createBidirectionalStream(options?: { sendOrder?: number }): Promise<BidirectionalStream>;
	createUnidirectionalStream(options?: { sendOrder?: number }): Promise<WritableStream<BufferSource>>;
	close(info?: { closeCode?: number; reason?: string }): void;
	getStats?(): Promise<{ smoothedRtt?: number; minRtt?: number; estimatedSendRate?: number | null }>;
}

export interface BidirectionalStream {
	readonly readable: ReadableStream<Uint8Array>;
	readonly writable: WritableStream<BufferSource>;
}

/** The protocols a session is offered with, the preferred one first. */
export const PROTOCOLS = ["moqt-18", "moqt-16"];

/**
 * The reason for a stream's end that the peer gets as a code in STOP_SENDING or RESET_STREAM. A browser takes the code
 * from its own kind of error only.
 */
export function streamError(code: number, message: string): Error {
	if (typeof WebTransportError === "undefined") return Object.assign(new Error(message), { streamErrorCode: code });
	try {
		return new WebTransportError(message, { source: "stream", streamErrorCode: code });
	} catch {
		// Chromium still has the constructor of earlier drafts, which takes a dictionary alone.
		const Early = WebTransportError as unknown as new (init: { message: string; streamErrorCode: number }) => Error;
		return new Early({ message, streamErrorCode: code });
	}
}

/** The code with which the peer ended a stream, if that is what the error says. */
export function streamErrorCode(err: unknown): number | undefined {
	const code = (err as { streamErrorCode?: number | null } | undefined)?.streamErrorCode;
	return typeof code === "number" ? code : undefined;
}
