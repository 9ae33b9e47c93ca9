import { RequestFailed, SessionClosed, TrackDone } from "../moqt/errors.ts";
import { RequestCode, SessionCode } from "../wire/codes.ts";

/** What is wrong, for programs. */
export type ProblemCode =
	| "no-webtransport"
	| "insecure-page"
	| "no-webcodecs"
	| "bad-url"
	| "unreachable"
	| "certificate"
	| "version"
	| "refused"
	| "connection-lost"
	| "no-broadcast"
	| "publisher-gone"
	| "ended"
	| "no-catalog"
	| "codec"
	| "internal";

/** What is wrong, in words for the viewer: what it is, and what can be done. */
export interface Problem {
	code: ProblemCode;
	title: string;
	detail: string;
	/** The player goes on trying by itself. */
	retrying: boolean;
}

export class PlayerError extends Error {
	override name = "PlayerError";
	readonly code: ProblemCode;
	constructor(code: ProblemCode, detail: string) {
		super(detail);
		this.code = code;
	}
}

const TITLES: Record<ProblemCode, string> = {
	"no-webtransport": "This browser cannot play live streams over WebTransport",
	"insecure-page": "This page is not secure enough for WebTransport",
	"no-webcodecs": "This browser cannot decode video by itself",
	"bad-url": "The address of the relay is not right",
	unreachable: "The relay cannot be reached",
	certificate: "The relay's certificate is not the expected one",
	version: "The relay speaks another version",
	refused: "The relay refuses this",
	"connection-lost": "The connection was lost",
	"no-broadcast": "Nothing is being broadcast here yet",
	"publisher-gone": "The broadcast has stopped",
	ended: "The broadcast has ended",
	"no-catalog": "The broadcast cannot be understood",
	codec: "This browser cannot decode the broadcast",
	internal: "Something went wrong",
};

/** Problems that do not go away by trying again. */
const FINAL: readonly ProblemCode[] = [
	"no-webtransport",
	"insecure-page",
	"no-webcodecs",
	"bad-url",
	"version",
	"codec",
	"refused",
];

export function problem(code: ProblemCode, detail: string): Problem {
	return { code, title: TITLES[code], detail, retrying: !FINAL.includes(code) };
}

/** Puts into words what an operation has failed with. */
export function problemOf(err: unknown): Problem {
	if (err instanceof PlayerError) return problem(err.code, err.message);
	if (err instanceof RequestFailed) {
		if (err.code === RequestCode.DOES_NOT_EXIST) {
			return problem("no-broadcast", "It is shown here by itself as soon as it begins.");
		}
		if (err.code === RequestCode.UNAUTHORIZED) return problem("refused", `The relay says: ${err.message}`);
		return { ...problem("refused", `The relay says: ${err.message}`), retrying: true };
	}
	if (err instanceof TrackDone) return problem("publisher-gone", err.message);
	if (err instanceof SessionClosed) {
		if (err.code === SessionCode.VERSION_NEGOTIATION_FAILED) return problem("version", err.message);
		if (err.code === SessionCode.UNAUTHORIZED) return problem("refused", err.message);
		return problem("connection-lost", err.message);
	}
	return problem("internal", err instanceof Error ? err.message : String(err));
}
