import type { MediaProperties } from "../wire/loc.ts";
import { readMediaProperties } from "../wire/loc.ts";
import { packetDuration } from "./codec.ts";
import { type EncodedFrame, MediaError, type Micros, type Rendition } from "./frame.ts";
import { type Mp4Track, parseFragments, parseHeader } from "./mp4.ts";

/** Takes the frames out of the objects of one track. Objects of a group have to come in order. */
export interface Unpacker {
	unpack(object: { id: number; properties: Uint8Array; payload: Uint8Array }): EncodedFrame[];
}

export function newUnpacker(r: Rendition): Unpacker {
	switch (r.packaging) {
		case "cmaf":
			return new CmafUnpacker(r);
		case "loc":
			return new LocUnpacker(r);
		case "legacy":
			return new LegacyUnpacker(r);
	}
}

/** Largest time that is believed: the year 2255, which a number still holds exactly. */
const MAX_MICROS = Number.MAX_SAFE_INTEGER;

function checkTime(t: number): Micros {
	if (!(Math.abs(t) <= MAX_MICROS)) throw new MediaError(`time ${t}`);
	return t;
}

/** One moof and mdat per object, or more. [CMSF] Section "Object Packaging" */
class CmafUnpacker implements Unpacker {
	readonly #track: Mp4Track;
	readonly #rendition: Rendition;

	constructor(r: Rendition) {
		if (!r.init) throw new MediaError("the catalog has no header for the track");
		this.#rendition = r;
		this.#track = parseHeader(r.init);
	}

	unpack(o: { id: number; properties: Uint8Array; payload: Uint8Array }): EncodedFrame[] {
		const scale = 1e6 / this.#track.timescale;
		const { timestamp, timescale } = readMediaProperties(o.properties);
		// On CMAF the timestamp is the time of capture; with a timescale it would not be wall clock time.
		let capture = timestamp !== undefined && timescale === undefined ? Number(timestamp) : undefined;
		return parseFragments(o.payload, this.#track).map((s, i) => {
			const f: EncodedFrame = {
				key: this.#rendition.kind === "audio" || s.sync || (o.id === 0 && i === 0),
				pts: checkTime(s.pts * scale),
				duration: s.duration * scale,
				capture,
				data: s.data,
				config: undefined,
			};
			if (this.#rendition.kind === "audio" && f.duration === 0) {
				f.duration = packetDuration(this.#rendition.codec, s.data, this.#rendition.sampleRate);
			}
			capture = undefined;
			return f;
		});
	}
}

/** The codec's bytes, with what is known of them in properties. [LOC-04] Section "LOC Payload" */
class LocUnpacker implements Unpacker {
	readonly #rendition: Rendition;

	constructor(r: Rendition) {
		this.#rendition = r;
	}

	unpack(o: { id: number; properties: Uint8Array; payload: Uint8Array }): EncodedFrame[] {
		if (o.payload.length === 0) return [];
		const p = readMediaProperties(o.properties);
		const { pts, capture } = times(p);
		const r = this.#rendition;
		return [
			{
				key: r.kind === "audio" || o.id === 0,
				pts,
				duration: r.kind === "audio" ? packetDuration(r.codec, o.payload, r.sampleRate) : 0,
				capture,
				data: o.payload,
				config: r.kind === "audio" ? p.audioConfig : p.videoConfig,
			},
		];
	}
}

function times(p: MediaProperties): { pts: Micros; capture: Micros | undefined } {
	if (p.timestamp === undefined) throw new MediaError("an object has no timestamp");
	const t = Number(p.timestamp);
	if (p.timescale === undefined) {
		return { pts: checkTime(t), capture: t + (p.captureOffset ?? 0) };
	}
	if (p.timescale === 0) throw new MediaError("the timescale is 0");
	return { pts: checkTime((t * 1e6) / Number(p.timescale)), capture: undefined };
}

/** The codec's bytes behind a timestamp. [hang] Section "Container" */
class LegacyUnpacker implements Unpacker {
	readonly #rendition: Rendition;

	constructor(r: Rendition) {
		this.#rendition = r;
	}

	unpack(o: { id: number; payload: Uint8Array }): EncodedFrame[] {
		const { value, length } = quicVarint(o.payload);
		const data = o.payload.subarray(length);
		if (data.length === 0) return [];
		const r = this.#rendition;
		return [
			{
				key: r.kind === "audio" || o.id === 0,
				pts: checkTime(value),
				duration: r.kind === "audio" ? packetDuration(r.codec, data, r.sampleRate) : 0,
				capture: undefined,
				data,
				config: undefined,
			},
		];
	}
}

/** Reads a variable-length integer of QUIC, which is not that of MOQT. RFC 9000 Section 16 */
export function quicVarint(b: Uint8Array): { value: number; length: number } {
	const first = b[0];
	const length = first === undefined ? 1 : 1 << (first >> 6);
	if (first === undefined || b.length < length) throw new MediaError("an object ends within its timestamp");
	let value = first & 0x3f;
	for (const x of b.subarray(1, length)) value = value * 256 + x;
	return { value, length };
}
