import { StreamCode } from "../wire/codes.ts";
import type { Datagram } from "../wire/datagram.ts";
import type { SubscribeOk } from "../wire/message.ts";
import type { FullTrackName } from "../wire/namespace.ts";
import { type ObjectHeader, SubgroupCursor } from "../wire/object.ts";
import type { Params } from "../wire/params.ts";
import type { SubgroupHeader } from "../wire/subgroup.ts";
import type { StreamReader } from "./stream.ts";
import { streamError } from "./transport.ts";

/** An object with its payload. */
export interface MoqObject extends ObjectHeader {
	payload: Uint8Array<ArrayBuffer>;
}

/** A subgroup stream as it comes in. */
export class IncomingSubgroup {
	readonly header: SubgroupHeader;
	readonly #reader: StreamReader;
	readonly #cursor: SubgroupCursor;
	#cancelled = false;

	constructor(header: SubgroupHeader, reader: StreamReader) {
		this.header = header;
		this.#reader = reader;
		this.#cursor = new SubgroupCursor(header.hasProperties);
	}

	get cancelled(): boolean {
		return this.#cancelled;
	}

	/** Returns the next object once all of it is there, or undefined at the end. It throws if the stream was reset. */
	async next(): Promise<MoqObject | undefined> {
		try {
			const header = await this.#reader.parse((r) => this.#cursor.read(r));
			if (!header || this.#cancelled) return undefined;
			const payload = await this.#reader.bytes(header.payloadLength);
			return this.#cancelled ? undefined : { ...header, payload };
		} catch (err) {
			// To the reader a stream that we have cancelled ends wherever it was.
			if (this.#cancelled) return undefined;
			throw err;
		}
	}

	/** Asks the sender to stop (STOP_SENDING). next returns undefined from then on. */
	cancel(code: number = StreamCode.CANCELLED): void {
		if (this.#cancelled) return;
		this.#cancelled = true;
		this.#reader.cancel(streamError(code, "cancelled"));
	}
}

/** What a subscription gives its user. The calls come in the order of arrival. */
export interface TrackHandler {
	/**
	 * The handler reads the subgroup or cancels it. If what it returns rejects with a ProtocolError, the session is
	 * closed for it.
	 */
	subgroup(s: IncomingSubgroup): Promise<void> | void;
	datagram(d: Datagram): void;
}

/** A subscription to a track. Session.subscribe makes it. */
export interface Subscription {
	readonly track: FullTrackName;
	/** Rejects with RequestFailed or SessionClosed. */
	readonly ok: Promise<SubscribeOk>;
	/** Resolves with the reason when the subscription is over, however it came to that; undefined after close(). */
	readonly done: Promise<Error | undefined>;
	/** Changes parameters; rejects if the change was refused, which ends the subscription. */
	update(params: Params): Promise<void>;
	/** Ends the subscription. Streams that are open should be cancelled by who reads them. */
	close(): void;
}
