import type { Kind, Millis } from "./frame.ts";

// What a player tells its relay of the frames it has shown. The format is that of the Go package media/report, whose
// documentation has it; the vectors are the same.

/** The track of the reports, which is between the two ends of the session. */
export const REPORT_TRACK = { namespace: [".session", "moq-c4"], name: "frame-delay" };

export interface Report {
	/** What the report is about, and how much of that was without a new picture though there should have been one. */
	period: Millis;
	stalled: Millis;
	tracks: TrackReport[];
}

export interface TrackReport {
	kind: Kind;
	/** That of the publisher. */
	priority: number;
	/** Groups given up because they were too late. */
	cancelled: number;
	/** Groups, or packets of sound, lost in another way. */
	dropped: number;
	/** Frames whose delay is not known. */
	unknown: number;
	/** Frames by delay in whole milliseconds. */
	delays: Map<Millis, number>;
}

const VERSION = 1;
const MAX_TRACKS = 16;
const MAX_STEPS = 256;
const MAX_FRAMES = 1 << 14;
const MAX_UINT32 = 0xffff_ffff;

export function encodeReport(r: Report): Uint8Array<ArrayBuffer> {
	const b: number[] = [];
	const put = (x: number) => {
		let v = Math.min(MAX_UINT32, Math.max(0, Math.round(x)));
		for (; v >= 0x80; v = Math.floor(v / 128)) b.push((v % 128) | 0x80);
		b.push(v);
	};
	const tracks = r.tracks.slice(0, MAX_TRACKS);
	for (const x of [VERSION, r.period, r.stalled, tracks.length]) put(x);
	for (const t of tracks) {
		// What is above the bounds of a report counts as not known, the slowest last.
		let frames = 0;
		const all = [...t.delays].sort(([a], [b]) => b - a);
		const kept = all.slice(0, MAX_STEPS).filter(([, n]) => {
			const fits = frames + n <= MAX_FRAMES;
			if (fits) frames += n;
			return fits;
		});
		const unknown = t.unknown + all.reduce((sum, [, n]) => sum + n, 0) - frames;
		for (const x of [t.kind === "video" ? 1 : 2, t.priority, t.cancelled, t.dropped, unknown, kept.length]) put(x);
		let before = 0;
		for (const [delay, n] of kept.reverse()) {
			put(delay - before);
			put(n);
			before = delay;
		}
	}
	return Uint8Array.from(b);
}
