import { type Box, boxes, descend, Fields, find } from "./box.ts";
import { MediaError } from "./frame.ts";

/** What the header of a track, ftyp and moov, says. */
export interface Mp4Track {
	id: number;
	timescale: number;
	/** The sample entry's type, as avc1. */
	entry: string;
	/** What a decoder needs: the body of avcC, hvcC, av1C or dOps, or an AudioSpecificConfig. */
	description: Uint8Array | undefined;
	/** Added to decode times, from the edit list. */
	shift: number;
	defaults: Defaults;
}

interface Defaults {
	duration: number;
	size: number;
	flags: number;
}

export interface Mp4Sample {
	/** In the track's timescale. */
	dts: number;
	pts: number;
	duration: number;
	sync: boolean;
	data: Uint8Array;
}

/** Reads the header of a single track. */
export function parseHeader(b: Uint8Array): Mp4Track {
	const moov = descend(b, "moov");
	const inside = boxes(moov.body);
	const traks = inside.filter((x) => x.type === "trak");
	const trak = traks[0];
	if (!trak || traks.length > 1) throw new MediaError(`the header has ${traks.length} tracks, not one`);

	const tkhd = new Fields(descend(trak.body, "tkhd").body);
	tkhd.skip(tkhd.full().version === 1 ? 16 : 8);
	const id = tkhd.u32();

	const mdhd = new Fields(descend(trak.body, "mdia", "mdhd").body);
	mdhd.skip(mdhd.full().version === 1 ? 16 : 8);
	const timescale = mdhd.u32();
	if (timescale === 0) throw new MediaError("the timescale is 0");

	const mvhd = new Fields(descend(moov.body, "mvhd").body);
	mvhd.skip(mvhd.full().version === 1 ? 16 : 8);
	const movieTimescale = mvhd.u32();

	const defaults: Defaults = { duration: 0, size: 0, flags: 0 };
	const mvex = find(inside, "mvex");
	for (const trex of mvex ? boxes(mvex.body).filter((x) => x.type === "trex") : []) {
		const f = new Fields(trex.body).skip(4);
		if (f.u32() !== id) continue;
		f.skip(4);
		defaults.duration = f.u32();
		defaults.size = f.u32();
		defaults.flags = f.u32();
	}
	const { entry, description } = sampleEntry(descend(trak.body, "mdia", "minf", "stbl", "stsd"));
	return { id, timescale, entry, description, shift: editShift(trak, timescale, movieTimescale), defaults };
}

/** What an edit list adds to times: empty edits delay the track, and the first other one says where it begins. */
function editShift(trak: Box, timescale: number, movieTimescale: number): number {
	const edts = find(boxes(trak.body), "edts");
	const elst = edts && find(boxes(edts.body), "elst");
	if (!elst) return 0;
	const f = new Fields(elst.body);
	const long = f.full().version === 1;
	let shift = 0;
	for (let n = f.u32(); n > 0; n--) {
		const duration = long ? f.u64() : f.u32();
		const time = long ? f.i64() : f.i32();
		f.skip(4);
		if (time >= 0) return shift - time;
		if (movieTimescale > 0) shift += Math.round((duration * timescale) / movieTimescale);
	}
	return shift;
}

/** Length of the fields before the boxes inside a sample entry. */
const VISUAL = 78;
const AUDIO = 28;

const CONFIGS = ["avcC", "hvcC", "av1C", "dOps"];

function sampleEntry(stsd: Box): { entry: string; description: Uint8Array | undefined } {
	const entry = boxes(stsd.body.subarray(8))[0];
	if (!entry) throw new MediaError("the stsd box is empty");
	const visual = ["avc1", "avc3", "hvc1", "hev1", "av01", "vp09", "vp08"].includes(entry.type);
	const inside = boxes(entry.body.subarray(visual ? VISUAL : AUDIO));
	const esds = find(inside, "esds");
	if (esds) return { entry: entry.type, description: audioSpecificConfig(esds.body.subarray(4)) };
	return { entry: entry.type, description: inside.find((x) => CONFIGS.includes(x.type))?.body };
}

/** Finds the DecoderSpecificInfo (tag 5) in the descriptors of an esds box. ISO/IEC 14496-1 Section 7.2.6 */
function audioSpecificConfig(b: Uint8Array): Uint8Array | undefined {
	for (let at = 0; at + 2 <= b.length; ) {
		const tag = b[at++] as number;
		let size = 0;
		let byte: number | undefined;
		do {
			byte = b[at++];
			if (byte === undefined) return undefined;
			size = size * 128 + (byte & 0x7f);
		} while (byte & 0x80);
		if (tag === 5) return b.subarray(at, at + size);
		// ES_Descriptor: id and flags, with nothing optional in files; DecoderConfigDescriptor: 13 bytes.
		if (tag === 3) at += 3;
		else if (tag === 4) at += 13;
		else at += size;
	}
	return undefined;
}

// Flags. ISO/IEC 14496-12 Sections 8.8.7, 8.8.8 and 8.8.3.1
const TFHD_BASE = 0x000001;
const TFHD_DESCRIPTION = 0x000002;
const TFHD_DURATION = 0x000008;
const TFHD_SIZE = 0x000010;
const TFHD_FLAGS = 0x000020;
const TRUN_DATA_OFFSET = 0x000001;
const TRUN_FIRST_FLAGS = 0x000004;
const TRUN_DURATION = 0x000100;
const TRUN_SIZE = 0x000200;
const TRUN_FLAGS = 0x000400;
const TRUN_OFFSET = 0x000800;
const NON_SYNC = 0x00010000;

const MAX_SAMPLES = 10_000;

/** Lists the samples of one or more moof and mdat of one track. Their data points into b. */
export function parseFragments(b: Uint8Array, track: Mp4Track): Mp4Sample[] {
	const samples: Mp4Sample[] = [];
	const all = boxes(b);
	for (const [i, moof] of all.entries()) {
		if (moof.type !== "moof") continue;
		const mdat = all.slice(i + 1).find((x) => x.type === "mdat" || x.type === "moof");
		if (mdat?.type !== "mdat") throw new MediaError("there is no mdat behind the moof");
		for (const traf of boxes(moof.body).filter((x) => x.type === "traf")) {
			readTraf(b, boxes(traf.body), moof.start, mdat.bodyStart, track, samples);
		}
	}
	if (samples.length === 0) throw new MediaError("there is no sample");
	return samples;
}

function readTraf(b: Uint8Array, inside: Box[], moof: number, mdat: number, track: Mp4Track, out: Mp4Sample[]): void {
	const tfhd = new Fields((find(inside, "tfhd") ?? missing("tfhd")).body);
	const { flags } = tfhd.full();
	if (tfhd.u32() !== track.id) throw new MediaError(`a sample is not of track ${track.id}`);
	if (flags & TFHD_BASE) tfhd.skip(8); // an offset into a file, of which there is none here
	if (flags & TFHD_DESCRIPTION) tfhd.skip(4);
	const defaults: Defaults = {
		duration: flags & TFHD_DURATION ? tfhd.u32() : track.defaults.duration,
		size: flags & TFHD_SIZE ? tfhd.u32() : track.defaults.size,
		flags: flags & TFHD_FLAGS ? tfhd.u32() : track.defaults.flags,
	};
	const tfdt = new Fields((find(inside, "tfdt") ?? missing("tfdt")).body);
	let dts = (tfdt.full().version === 1 ? tfdt.u64() : tfdt.u32()) + track.shift;
	let at = mdat;
	for (const trun of inside.filter((x) => x.type === "trun")) {
		const f = new Fields(trun.body);
		const head = f.full();
		const count = f.u32();
		if (out.length + count > MAX_SAMPLES) throw new MediaError(`more than ${MAX_SAMPLES} samples`);
		if (head.flags & TRUN_DATA_OFFSET) {
			const offset = f.i32();
			if (!(flags & TFHD_BASE)) at = moof + offset;
		}
		const first = head.flags & TRUN_FIRST_FLAGS ? f.u32() : undefined;
		for (let i = 0; i < count; i++) {
			const duration = head.flags & TRUN_DURATION ? f.u32() : defaults.duration;
			const size = head.flags & TRUN_SIZE ? f.u32() : defaults.size;
			let sampleFlags = head.flags & TRUN_FLAGS ? f.u32() : defaults.flags;
			if (i === 0 && first !== undefined) sampleFlags = first;
			const offset = head.flags & TRUN_OFFSET ? f.i32() : 0;
			if (at < 0 || at + size > b.length) throw new MediaError("a sample is outside of its object");
			out.push({
				dts,
				pts: dts + offset,
				duration,
				sync: (sampleFlags & NON_SYNC) === 0,
				data: b.subarray(at, at + size),
			});
			at += size;
			dts += duration;
		}
	}
}

function missing(type: string): never {
	throw new MediaError(`there is no ${type} box`);
}
