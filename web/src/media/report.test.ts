import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { encodeReport, type Report } from "./report.ts";

const file = new URL("../../../media/report/testdata/vectors.json", import.meta.url);
const vectors: { name: string; hex: string; report: Report & { tracks: { delays: [number, number][] }[] } }[] =
	JSON.parse(readFileSync(file, "utf8"));

const hex = (b: Uint8Array) => Buffer.from(b).toString("hex");

test.each(vectors)("$name", (v) => {
	const tracks = v.report.tracks.map((t) => ({ ...t, delays: new Map(t.delays) }));
	expect(hex(encodeReport({ ...v.report, tracks }))).toBe(v.hex.replaceAll(" ", ""));
});

test("the order in which delays were noted does not matter", () => {
	const report = (delays: [number, number][]): Report => ({
		period: 1000,
		stalled: 0,
		tracks: [{ kind: "video", priority: 4, cancelled: 0, dropped: 0, unknown: 0, delays: new Map(delays) }],
	});
	expect(
		hex(
			encodeReport(
				report([
					[9, 1],
					[2, 3],
				]),
			),
		),
	).toBe(
		hex(
			encodeReport(
				report([
					[2, 3],
					[9, 1],
				]),
			),
		),
	);
});

test("more delays than a report holds: the quickest become unknown", () => {
	const delays = new Map(Array.from({ length: 300 }, (_, i) => [i, 1]));
	const b = encodeReport({
		period: 0,
		stalled: 0,
		tracks: [{ kind: "video", priority: 4, cancelled: 0, dropped: 0, unknown: 5, delays }],
	});
	// 44 of 300 are left out; the first one kept is that of 44 ms.
	expect([...b.subarray(4, 13)]).toEqual([1, 4, 0, 0, 5 + 44, 0x80, 2, 44, 1]);
	expect(b).toHaveLength(11 + 2 * 256);
});
