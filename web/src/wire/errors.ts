import { type Code, SessionCode } from "./codes.ts";

/** The bytes are right so far but end before the item does: read more. */
export class Truncated extends Error {
	override name = "Truncated";
	constructor() {
		super("need more bytes");
	}
}

/** The peer sent bytes the session must be closed for. */
export class ProtocolError extends Error {
	override name = "ProtocolError";
	readonly code: Code;
	constructor(code: Code, reason: string) {
		super(reason);
		this.code = code;
	}
}

/** The track breaks a rule of the object model; the session stays. [MOQT-18] Section 2.4.2, Malformed Tracks */
export class MalformedTrack extends Error {
	override name = "MalformedTrack";
}

/** The draft allows it, but it is above a limit of this package. */
export class TooLarge extends Error {
	override name = "TooLarge";
}

/** A value that must not be sent: a fault of the caller, never of the peer. */
export class InvalidValue extends Error {
	override name = "InvalidValue";
}

/** The most common ProtocolError. */
export function violation(reason: string): ProtocolError {
	return new ProtocolError(SessionCode.PROTOCOL_VIOLATION, reason);
}

/** A key-value pair that does not fit its type or its block. */
export function kvpError(reason: string): ProtocolError {
	return new ProtocolError(SessionCode.KEY_VALUE_FORMATTING_ERROR, reason);
}

/** Runs f on a block whose length is known: what is missing there will never come. */
export function complete<T>(what: string, f: () => T): T {
	try {
		return f();
	} catch (err) {
		if (err instanceof Truncated) throw violation(`${what} ends too early`);
		throw err;
	}
}
