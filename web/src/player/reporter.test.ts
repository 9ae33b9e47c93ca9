import { expect, test } from "vitest";
import { encodeReport, type TrackReport } from "../media/report.ts";
import { ReportLog } from "./reporter.ts";

const video = (o: Partial<TrackReport>): TrackReport => ({
	kind: "video",
	priority: 6,
	cancelled: 0,
	dropped: 0,
	unknown: 0,
	delays: new Map(),
	...o,
});

test("delays are counted by the millisecond, what cannot be true is not known", () => {
	const log = new ReportLog(1000);
	for (const [i, d] of [40.4, 39.6, 41, -3, undefined, 3_600_000].entries()) log.frame("video", 6, d, 1000 + 33 * i);
	log.frame("audio", 2, 70, 1200);
	expect(log.take(2000)).toEqual(
		encodeReport({
			period: 1000,
			stalled: 0,
			tracks: [
				video({
					unknown: 3,
					delays: new Map([
						[40, 2],
						[41, 1],
					]),
				}),
				{ ...video({ delays: new Map([[70, 1]]) }), kind: "audio", priority: 2 },
			],
		}),
	);
	expect(log.take(3000)).toBeUndefined();
});

test("a gap between pictures is a stall, but not one while nothing is to be shown", () => {
	const log = new ReportLog(0);
	for (const at of [0, 33, 66, 1066, 1100]) log.frame("video", 6, undefined, at);
	log.pause(1133);
	log.frame("video", 6, undefined, 60_000);
	expect(log.take(60_000)).toEqual(encodeReport({ period: 60_000, stalled: 1000, tracks: [video({ unknown: 6 })] }));
});

test("of counts the difference is reported, also after a track was joined anew", () => {
	const log = new ReportLog(0);
	const count = (cancelled: number, dropped: number) =>
		log.counts("video-720p", { kind: "video", priority: 6, cancelled, dropped });
	count(2, 1);
	expect(log.take(10)).toEqual(encodeReport({ period: 10, stalled: 0, tracks: [video({ cancelled: 2, dropped: 1 })] }));
	count(5, 1);
	expect(log.take(20)).toEqual(encodeReport({ period: 10, stalled: 0, tracks: [video({ cancelled: 3 })] }));
	count(1, 0);
	expect(log.take(30)).toEqual(encodeReport({ period: 10, stalled: 0, tracks: [video({ cancelled: 1 })] }));
});
