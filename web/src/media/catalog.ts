import { kindOf } from "./codec.ts";
import { MediaError, type Rendition } from "./frame.ts";
import { parseHeader } from "./mp4.ts";

/** What a catalog lists that this player can unpack, and why not the rest. */
export interface Catalog {
	renditions: Rendition[];
	skipped: { name: string; reason: string }[];
	/** The broadcast has ended. */
	complete: boolean;
}

/** Largest catalog that is read. */
export const MAX_CATALOG = 4 << 20;
export const MAX_TRACKS = 256;

export function emptyRendition(name: string, codec: string): Rendition {
	const kind = kindOf(codec);
	if (!kind) throw new MediaError(codec ? `codec ${codec} is neither video nor audio` : "it has no codec");
	return {
		name,
		kind,
		codec,
		packaging: "loc",
		description: undefined,
		init: undefined,
		datagram: false,
		altGroup: undefined,
		bitrate: 0,
		width: 0,
		height: 0,
		framerate: 0,
		sampleRate: 0,
		channels: 0,
		label: undefined,
		language: undefined,
	};
}

/** Takes the header of a CMAF track, and the decoder configuration from it. */
export function useInit(r: Rendition, init: Uint8Array): void {
	r.init = init;
	r.description = parseHeader(init).description;
}

/** Parses JSON that is an object. */
export function parseJson(data: Uint8Array): Record<string, unknown> {
	if (data.length > MAX_CATALOG) throw new MediaError(`catalog of ${data.length} bytes`);
	let x: unknown;
	try {
		x = JSON.parse(new TextDecoder().decode(data));
	} catch {
		throw new MediaError("the catalog is not JSON");
	}
	return object(x) ?? fail("the catalog is not an object");
}

function fail(reason: string): never {
	throw new MediaError(reason);
}

/** Fields of JSON that may be of any type; what is of another one counts as absent. */
export function object(x: unknown): Record<string, unknown> | undefined {
	return typeof x === "object" && x !== null && !Array.isArray(x) ? (x as Record<string, unknown>) : undefined;
}

export function text(x: unknown): string {
	return typeof x === "string" ? x : "";
}

export function count(x: unknown): number {
	return typeof x === "number" && Number.isFinite(x) && x > 0 ? x : 0;
}

export function base64(s: string): Uint8Array {
	try {
		return Uint8Array.from(atob(s), (c) => c.charCodeAt(0));
	} catch {
		throw new MediaError("a field is not base64");
	}
}

export function hex(s: string): Uint8Array {
	if (!/^([0-9a-f]{2})*$/i.test(s)) throw new MediaError("a field is not hexadecimal");
	return Uint8Array.from(s.match(/../g) ?? [], (x) => Number.parseInt(x, 16));
}
