import {
	base64,
	type Catalog,
	count,
	emptyRendition,
	hex,
	MAX_TRACKS,
	object,
	parseJson,
	text,
	useInit,
} from "./catalog.ts";
import { webCodec } from "./codec.ts";
import { type Kind, MediaError, type Rendition } from "./frame.ts";

/** The track of the hang catalog. [hang] Section "Catalog" */
export const HANG_TRACK = "catalog.json";

/** Reads a hang catalog. Unknown fields are ignored. */
export function parseHang(data: Uint8Array): Catalog {
	const c = parseJson(data);
	const catalog: Catalog = { renditions: [], skipped: [], complete: false };
	for (const kind of ["video", "audio"] as const) {
		const renditions = Object.entries(object(object(c[kind])?.renditions) ?? {}).slice(0, MAX_TRACKS);
		for (const [name, x] of renditions) {
			try {
				const r = rendition(name, kind, object(x) ?? {});
				// What is in one section shows the same.
				if (renditions.length > 1) r.altGroup = kind === "video" ? 1 : 2;
				catalog.renditions.push(r);
			} catch (err) {
				if (!(err instanceof MediaError)) throw err;
				catalog.skipped.push({ name, reason: err.message });
			}
		}
	}
	return catalog;
}

function rendition(name: string, kind: Kind, t: Record<string, unknown>): Rendition {
	const r = emptyRendition(name, webCodec(text(t.codec)));
	if (r.kind !== kind) throw new MediaError(`its codec is ${r.codec}, listed as ${kind}`);
	if (t.broadcast !== undefined) throw new MediaError("it is in another broadcast");
	r.bitrate = count(t.bitrate);
	r.width = count(t.codedWidth);
	r.height = count(t.codedHeight);
	r.framerate = count(t.framerate);
	r.sampleRate = count(t.sampleRate);
	r.channels = count(t.numberOfChannels);
	const description = text(t.description);
	if (description) r.description = hex(description);
	const container = object(t.container);
	switch (container?.kind ?? "legacy") {
		case "legacy":
			r.packaging = "legacy";
			break;
		case "cmaf":
			useInit(r, base64(text(container?.init)));
			r.packaging = "cmaf";
			break;
		default:
			throw new MediaError(`container ${JSON.stringify(container?.kind)} is not handled`);
	}
	return r;
}
