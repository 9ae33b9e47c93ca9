import { type Code, codeName, DoneCode, RequestCode, SessionCode } from "../wire/codes.ts";
import type { Uint } from "../wire/uint.ts";

/** The relay refused a request. */
export class RequestFailed extends Error {
	override name = "RequestFailed";
	readonly code: Code;
	/** Milliseconds; absent: there is no use in another try. */
	readonly retry: number | undefined;
	constructor(code: Code, reason: string, retry?: Uint) {
		super(reason || codeName(RequestCode, code));
		this.code = code;
		this.retry = retry === undefined ? undefined : Number(retry);
	}
}

/** A subscription is over because the publisher said so. */
export class TrackDone extends Error {
	override name = "TrackDone";
	readonly code: Code;
	constructor(code: Code, reason: string) {
		super(reason || codeName(DoneCode, code));
		this.code = code;
	}
}

/** A session is over. */
export class SessionClosed extends Error {
	override name = "SessionClosed";
	/** Absent if the connection was lost without a word. */
	readonly code: Code | undefined;
	constructor(code: Code | undefined, reason: string) {
		super(reason || (code === undefined ? "connection lost" : codeName(SessionCode, code)));
		this.code = code;
	}
}
