import {
	base64,
	type Catalog,
	count,
	emptyRendition,
	MAX_TRACKS,
	object,
	parseJson,
	text,
	useInit,
} from "./catalog.ts";
import { webCodec } from "./codec.ts";
import { MediaError, type Rendition } from "./frame.ts";

/** The track of the MSF catalog. [MSF] Section "Catalog" */
export const MSF_TRACK = "catalog";

/** "A subscriber MUST NOT attempt to parse a catalog version which it does not understand." */
const VERSIONS = ["draft-01", "draft-00", "1", 1];

/** Reads a whole MSF catalog. Unknown fields are ignored. */
export function parseMsf(data: Uint8Array): Catalog {
	const c = parseJson(data);
	if (c.deltaUpdate !== undefined) throw new MediaError("delta updates of a catalog are not handled");
	if (!VERSIONS.includes(c.version as string)) {
		throw new MediaError(`catalog version ${JSON.stringify(c.version)} is not known`);
	}
	const tracks = Array.isArray(c.tracks) ? c.tracks.slice(0, MAX_TRACKS) : [];
	const inits = new Map<string, string>();
	for (const i of Array.isArray(c.initDataList) ? c.initDataList : []) {
		const entry = object(i);
		if (entry?.type === "inline") inits.set(text(entry.id), text(entry.data));
	}
	const catalog: Catalog = { renditions: [], skipped: [], complete: c.isComplete === true };
	for (const t of tracks) {
		const track = object(t);
		if (!track) continue;
		try {
			catalog.renditions.push(rendition(track, inits));
		} catch (err) {
			if (!(err instanceof MediaError)) throw err;
			catalog.skipped.push({ name: text(track.name), reason: err.message });
		}
	}
	return catalog;
}

function rendition(t: Record<string, unknown>, inits: Map<string, string>): Rendition {
	const r = emptyRendition(text(t.name), webCodec(text(t.codec)));
	if (t.namespace !== undefined) throw new MediaError("it is in another namespace");
	if (t.role !== undefined && t.role !== r.kind) throw new MediaError(`its role is ${JSON.stringify(t.role)}`);
	r.bitrate = count(t.bitrate);
	r.width = count(t.width);
	r.height = count(t.height);
	r.framerate = count(t.framerate);
	r.sampleRate = count(t.samplerate);
	r.channels = channels(text(t.channelConfig));
	r.label = text(t.label) || undefined;
	r.language = text(t.lang) || undefined;
	r.altGroup = count(t.altGroup) || undefined;
	r.datagram = t.delivery === "datagram";
	const data = text(t.initData) || inits.get(text(t.initRef)) || "";
	switch (t.packaging) {
		case "cmaf":
			useInit(r, base64(data));
			r.packaging = "cmaf";
			break;
		case "loc":
			r.packaging = "loc";
			if (data) r.description = base64(data);
			break;
		default:
			throw new MediaError(`packaging ${JSON.stringify(t.packaging)} is not handled`);
	}
	return r;
}

function channels(s: string): number {
	if (s === "mono") return 1;
	if (s === "stereo") return 2;
	return count(Number(s));
}
