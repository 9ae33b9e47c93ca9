import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { encodeProperties } from "../wire/kvp.ts";
import { LOC, zigzag } from "../wire/loc.ts";
import { boxes } from "./box.ts";
import { decoderDescription, opusDuration } from "./codec.ts";
import { MediaError, type Rendition } from "./frame.ts";
import { parseHang } from "./hang.ts";
import { parseFragments, parseHeader } from "./mp4.ts";
import { MsfCatalog, parseMsf } from "./msf.ts";
import { newUnpacker, quicVarint } from "./unpack.ts";

const read = (path: string) => new Uint8Array(readFileSync(new URL(`../../../${path}`, import.meta.url)));
const json = (x: unknown) => new TextEncoder().encode(JSON.stringify(x));

const clip = read("testdata/clip.mp4");

/** The header of one track of the clip: ftyp, and a moov with that track alone. */
function header(id: number): Uint8Array {
	const top = boxes(clip);
	const moov = top.find((b) => b.type === "moov");
	if (!moov) throw new Error("no moov");
	const trackId = (body: Uint8Array) => {
		const tkhd = boxes(body).find((b) => b.type === "tkhd")?.body as Uint8Array;
		return new DataView(tkhd.buffer, tkhd.byteOffset).getUint32(tkhd[0] === 1 ? 20 : 12);
	};
	const kept = boxes(moov.body).filter((b) => b.type !== "trak" || trackId(b.body) === id);
	const parts = kept.map((b) => moov.body.subarray(b.start, b.bodyStart + b.body.length));
	const size = 8 + parts.reduce((n, p) => n + p.length, 0);
	const out = new Uint8Array(size);
	new DataView(out.buffer).setUint32(0, size);
	out.set(new TextEncoder().encode("moov"), 4);
	let at = 8;
	for (const p of parts) {
		out.set(p, at);
		at += p.length;
	}
	return out;
}

/** The clip's fragments as objects, moof and mdat together. */
const fragments = (() => {
	const top = boxes(clip);
	return top.flatMap((b, i) => {
		const next = top[i + 1];
		return b.type === "moof" && next ? [clip.subarray(b.start, next.bodyStart + next.body.length)] : [];
	});
})();

describe("the test clip", () => {
	// What ffprobe says of it is in testdata/README.md.
	test.each([
		[1, "avc1", 300, 1e6 / 30],
		[2, "avc1", 300, 1e6 / 30],
		[3, "Opus", 500, 20_000],
	])("track %i", (id, entry, frames, duration) => {
		const track = parseHeader(header(id));
		expect(track.entry).toBe(entry);
		expect(track.description?.length).toBeGreaterThan(10);
		const samples = fragments.flatMap((f) => {
			try {
				return parseFragments(f, track);
			} catch (err) {
				expect(String(err)).toContain("not of track");
				return [];
			}
		});
		expect(samples).toHaveLength(frames);
		const scale = 1e6 / track.timescale;
		samples.forEach((s, i) => {
			expect(s.pts * scale).toBeCloseTo(i * duration, 0);
			expect(s.sync).toBe(entry === "Opus" || i % 30 === 0);
			if (entry === "Opus") expect(opusDuration(s.data)).toBe(20_000);
			else expect(new DataView(s.data.buffer, s.data.byteOffset).getUint32(0)).toBeLessThan(s.data.length);
		});
	});
});

test("a cut fragment is an error of the media, whatever is missing", () => {
	const track = parseHeader(header(3));
	const audio = fragments.find((f) => {
		try {
			return parseFragments(f, track);
		} catch {
			return false;
		}
	}) as Uint8Array;
	for (let n = 0; n < audio.length; n++) {
		expect(() => parseFragments(audio.subarray(0, n), track), `${n} bytes`).toThrow(MediaError);
	}
	const moov = header(3);
	for (let n = 0; n < moov.length; n++) expect(() => parseHeader(moov.subarray(0, n))).toThrow(MediaError);
});

describe("catalogs", () => {
	test("MSF of another project's player", () => {
		const c = parseMsf(read("media/catalog/testdata/catalog-msf.json"));
		expect(c.skipped).toEqual([]);
		expect(c.renditions.map((r) => [r.name, r.kind, r.codec, r.packaging, r.bitrate])).toEqual([
			["video", "video", "avc1.42c01e", "cmaf", 1_000_000],
			["audio", "audio", "opus", "cmaf", 128_000],
		]);
		expect(c.renditions[0]?.description?.[0]).toBe(1); // avcC
		expect(decoderDescription("opus", c.renditions[1]?.description)).toBeUndefined();
	});

	test("MSF with AAC", () => {
		const c = parseMsf(read("media/catalog/testdata/catalog-msf-aac.json"));
		expect(c.renditions[1]).toMatchObject({ codec: "mp4a.40.2", sampleRate: 48000, channels: 2 });
		expect(Array.from(c.renditions[1]?.description ?? [])).toEqual([0x11, 0x90, 0x56, 0xe5, 0x00]);
	});

	test("hang", () => {
		const c = parseHang(read("media/catalog/testdata/catalog-hang.json"));
		expect(c.renditions).toMatchObject([
			{ name: "video", kind: "video", packaging: "cmaf", width: 640, height: 360, framerate: 30 },
			{ name: "audio", kind: "audio", packaging: "cmaf", sampleRate: 48000, channels: 2 },
		]);
	});

	test("what cannot be used is left out with a reason", () => {
		const c = parseMsf(
			json({
				version: "draft-01",
				isComplete: true,
				tracks: [
					{ name: "a", packaging: "loc", codec: "opus", delivery: "datagram", altGroup: 2, channelConfig: "stereo" },
					{ name: "b", packaging: "timeline", codec: "opus" },
					{ name: "c", packaging: "loc", codec: "text" },
					{ name: "d", packaging: "cmaf", codec: "avc1.42c01e", initData: "AAAA" },
					{ name: "e", packaging: "loc", codec: "opus", role: "caption" },
					{ name: "f", packaging: "loc", codec: "opus", namespace: ["x"] },
					17,
				],
			}),
		);
		expect(c.renditions).toMatchObject([{ name: "a", datagram: true, altGroup: 2, channels: 2 }]);
		expect(c.skipped.map((s) => s.name)).toEqual(["b", "c", "d", "e", "f"]);
		expect(c.complete).toBe(true);
	});

	test.each([
		["an unknown version", { version: "draft-99", tracks: [] }],
		["no version", { tracks: [] }],
		["a delta update", { version: 1, deltaUpdate: [] }],
		["an array", []],
		["null", null],
	])("%s is refused", (_, x) => expect(() => parseMsf(json(x))).toThrow(MediaError));
});

const rendition = (o: Partial<Rendition>): Rendition =>
	({ kind: "video", packaging: "loc", codec: "avc1.42c01e", ...o }) as Rendition;

describe("unpacking", () => {
	test("LOC in wall clock time", () => {
		const u = newUnpacker(rendition({}));
		const config = Uint8Array.of(1, 2, 3);
		const properties = encodeProperties([
			{ type: LOC.VIDEO_CONFIG, bytes: config },
			{ type: LOC.TIMESTAMP, uint: 1_795_000_000_000_000 },
			{ type: LOC.CAPTURE_OFFSET, uint: zigzag(-2500) },
		]);
		const payload = Uint8Array.of(9);
		expect(u.unpack({ id: 0, properties, payload })).toEqual([
			{ key: true, pts: 1.795e15, duration: 0, capture: 1.795e15 - 2500, data: payload, config },
		]);
		expect(u.unpack({ id: 1, properties, payload })[0]?.key).toBe(false);
		expect(u.unpack({ id: 2, properties, payload: new Uint8Array(0) })).toEqual([]);
		expect(() => u.unpack({ id: 3, properties: new Uint8Array(0), payload })).toThrow(MediaError);
	});

	test("LOC with a timescale", () => {
		const u = newUnpacker(rendition({ kind: "audio", codec: "opus" }));
		const properties = encodeProperties([
			{ type: LOC.TIMESCALE, uint: 48000 },
			{ type: LOC.TIMESTAMP, uint: 96000 },
		]);
		const [f] = u.unpack({ id: 5, properties, payload: Uint8Array.of(0x7c, 0) });
		expect(f).toMatchObject({ key: true, pts: 2e6, duration: 20_000, capture: undefined });
	});

	test("legacy", () => {
		const u = newUnpacker(rendition({ packaging: "legacy" }));
		const [f] = u.unpack({ id: 0, properties: new Uint8Array(0), payload: Uint8Array.of(0x44, 0xd2, 7) });
		expect(f).toMatchObject({ key: true, pts: 1234, data: Uint8Array.of(7) });
	});

	test("CMAF carries the time of capture in a property", () => {
		const u = newUnpacker(rendition({ packaging: "cmaf", init: header(1) }));
		const properties = encodeProperties([{ type: LOC.TIMESTAMP, uint: 1_795_000_000_000_000 }]);
		const [f] = u.unpack({ id: 0, properties, payload: fragments[0] as Uint8Array });
		expect(f).toMatchObject({ key: true, pts: 0, capture: 1.795e15 });
	});

	// RFC 9000 Section A.1
	test.each([
		["9d7f3e7d", 494878333],
		["7bbd", 15293],
		["25", 37],
	])("QUIC varint %s", (h, value) => expect(quicVarint(Uint8Array.from(Buffer.from(h, "hex"))).value).toBe(value));
});

// RFC 6716 Table 2 and Section 3.2
test.each([
	["SILK 60 ms", [3 << 3], 60_000],
	["hybrid 10 ms", [12 << 3], 10_000],
	["CELT 2.5 ms", [16 << 3], 2500],
	["CELT 20 ms", [31 << 3], 20_000],
	["two frames", [(31 << 3) | 1], 40_000],
	["three frames", [(31 << 3) | 3, 3], 60_000],
	["nothing", [], 0],
])("Opus packet of %s", (_, packet, want) => expect(opusDuration(Uint8Array.from(packet))).toBe(want));

describe("delta updates of an MSF catalog", () => {
	const video = { name: "v", packaging: "loc", role: "video", codec: "avc1.42e01e", height: 360, altGroup: 1 };
	const begin = () => {
		const c = new MsfCatalog();
		c.read(json({ version: "draft-01", tracks: [video] }), 0);
		return c;
	};
	const delta = (...deltaUpdate: object[]) => json({ generatedAt: 1, deltaUpdate });
	const listed = (c: { renditions: Rendition[] }) => c.renditions.map((r) => [r.name, r.height]);

	test("each operation, in order", () => {
		const c = begin();
		const audio = { name: "a", packaging: "loc", role: "audio", codec: "opus" };
		expect(listed(c.read(delta({ op: "add", tracks: [audio] }), 1))).toEqual([
			["v", 360],
			["a", 0],
		]);
		const clone = { op: "clone", tracks: [{ parentName: "v", name: "w", height: 720 }] };
		const update = { op: "update", tracks: [{ parentName: "w", height: 1080 }] };
		const cloned = c.read(delta(clone, update), 2);
		expect(listed(cloned)).toEqual([
			["v", 360],
			["a", 0],
			["w", 1080],
		]);
		expect(cloned.renditions[2]).toMatchObject({ codec: "avc1.42e01e", altGroup: 1 });
		expect(listed(c.read(delta({ op: "remove", tracks: [{ name: "v" }] }), 3))).toEqual([
			["a", 0],
			["w", 1080],
		]);
	});

	test("an independent catalog begins anew", () => {
		const c = begin();
		c.read(delta({ op: "update", tracks: [{ parentName: "v", height: 480 }] }), 1);
		expect(listed(c.read(json({ version: "draft-01", tracks: [{ ...video, name: "x" }] }), 2))).toEqual([["x", 360]]);
	});

	test.each([
		["one without its catalog", () => new MsfCatalog(), 1, { op: "add", tracks: [video] }],
		["one after a hole", begin, 2, { op: "add", tracks: [video] }],
		["a track that is not there", begin, 1, { op: "remove", tracks: [{ name: "other" }] }],
		["a parent that is not there", begin, 1, { op: "clone", tracks: [{ parentName: "other", name: "w" }] }],
		["another operation", begin, 1, { op: "rename", tracks: [{ name: "v" }] }],
		["too many tracks", begin, 1, { op: "clone", tracks: Array(300).fill({ parentName: "v", name: "w" }) }],
	])("%s is refused and changes nothing", (_, make, id, operation) => {
		const c = make();
		expect(() => c.read(delta(operation), id)).toThrow(MediaError);
		if (make === begin) expect(listed(c.read(delta({ op: "update", tracks: [] }), 1))).toEqual([["v", 360]]);
	});
});
