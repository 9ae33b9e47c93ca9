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

/** Most operations of one delta update, and most updates on top of one independent catalog. */
const MAX_OPERATIONS = 1024;
const MAX_UPDATES = 10_000;

/** Reads a whole MSF catalog. Unknown fields are ignored. */
export function parseMsf(data: Uint8Array): Catalog {
	return new MsfCatalog().read(data, 0);
}

type Json = Record<string, unknown>;

/** A catalog as its objects tell it: object 0 of a group is independent, those that follow it are changes to it. */
export class MsfCatalog {
	#root: Json | undefined;
	#tracks: Json[] = [];
	#next = 0;

	/** Reads the object with this id of a group, and returns the catalog as it is then. Objects come in order. */
	read(data: Uint8Array, id: number): Catalog {
		const c = parseJson(data);
		if (c.deltaUpdate !== undefined) this.#update(c.deltaUpdate, id);
		else this.#replace(c);
		this.#next = id + 1;
		return this.#catalog();
	}

	#replace(c: Json): void {
		if (!VERSIONS.includes(c.version as string)) {
			throw new MediaError(`catalog version ${JSON.stringify(c.version)} is not known`);
		}
		this.#root = c;
		this.#tracks = objects(c.tracks).slice(0, MAX_TRACKS);
	}

	/**
	 * "Operations are applied sequentially in the order they appear in the deltaUpdate array."
	 * [MSF] Section "Delta updates"
	 */
	#update(operations: unknown, id: number): void {
		if (!this.#root || id !== this.#next || id > MAX_UPDATES) {
			throw new MediaError("a delta update without the catalog that it changes");
		}
		// An update that cannot be applied changes nothing.
		let tracks = [...this.#tracks];
		for (const o of objects(operations).slice(0, MAX_OPERATIONS)) {
			for (const t of objects(o.tracks)) tracks = operate(tracks, o.op, t);
		}
		this.#tracks = tracks;
	}

	#catalog(): Catalog {
		const inits = new Map<string, string>();
		for (const i of objects(this.#root?.initDataList)) if (i.type === "inline") inits.set(text(i.id), text(i.data));
		const catalog: Catalog = { renditions: [], skipped: [], complete: this.#root?.isComplete === true };
		for (const track of this.#tracks) {
			try {
				catalog.renditions.push(rendition(track, inits));
			} catch (err) {
				if (!(err instanceof MediaError)) throw err;
				catalog.skipped.push({ name: text(track.name), reason: err.message });
			}
		}
		return catalog;
	}
}

/** Applies one operation for one track. [MSF] Section "Delta update" */
function operate(tracks: Json[], op: unknown, t: Json): Json[] {
	const at = (name: unknown, namespace: unknown): number => {
		const i = tracks.findIndex((x) => x.name === name && x.namespace === namespace);
		if (i < 0) throw new MediaError(`a delta update refers to track ${JSON.stringify(name)}, which there is not`);
		return i;
	};
	const { parentName, parentNamespace, ...fields } = t;
	switch (op) {
		case "add":
			return limited([...tracks.filter((x) => x.name !== t.name || x.namespace !== t.namespace), t]);
		case "remove": {
			const gone = at(t.name, t.namespace);
			return tracks.filter((_, i) => i !== gone);
		}
		case "clone":
			return limited([...tracks, { ...tracks[at(parentName, parentNamespace)], ...fields }]);
		case "update": {
			const changed = at(parentName, parentNamespace);
			return tracks.map((x, i) => (i === changed ? { ...x, ...fields } : x));
		}
		default:
			throw new MediaError(`delta operation ${JSON.stringify(op)} is not known`);
	}
}

function limited(tracks: Json[]): Json[] {
	if (tracks.length > MAX_TRACKS) throw new MediaError(`more than ${MAX_TRACKS} tracks`);
	return tracks;
}

function objects(x: unknown): Json[] {
	return (Array.isArray(x) ? x : []).map(object).filter((o) => o !== undefined);
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
