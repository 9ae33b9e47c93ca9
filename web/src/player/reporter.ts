import { MAX_TRACKS } from "../media/catalog.ts";
import type { Kind, Millis } from "../media/frame.ts";
import { encodeReport, REPORT_TRACK, type TrackReport } from "../media/report.ts";
import { PROTOCOL_16 } from "../moqt/draft16.ts";
import type { Session } from "../moqt/session.ts";
import { forgetOldest } from "./stats.ts";

/** Time until the first report, and between two. */
const FIRST: Millis = 1000;
const PERIOD: Millis = 5000;
/** A delay that is longer, or negative, says that the clocks do not agree. */
const MAX_DELAY: Millis = 60_000;
/** A picture that comes later than so long after the one before has left a gap. */
const GAP: Millis = 250;

/** What is known of a track whenever a report is made: counts since it was joined. */
export interface TrackCounts {
	kind: Kind;
	priority: number;
	cancelled: number;
	dropped: number;
}

/** Collects what is to be reported. Pure. */
export class ReportLog {
	#began: Millis;
	#lastPicture: Millis | undefined;
	#stalled: Millis = 0;
	#tracks = new Map<string, TrackReport>();
	#counted = new Map<string, TrackCounts>();

	constructor(now: Millis) {
		this.#began = now;
	}

	/** A frame is shown or heard. delay is undefined if there is no time of capture. */
	frame(kind: Kind, priority: number, delay: Millis | undefined, now: Millis): void {
		const t = this.#track(kind, priority);
		if (delay === undefined || delay < 0 || delay > MAX_DELAY) t.unknown++;
		else t.delays.set(Math.round(delay), (t.delays.get(Math.round(delay)) ?? 0) + 1);
		if (kind !== "video") return;
		this.#gap(now);
		this.#lastPicture = now;
	}

	/** Nothing is to be shown for now: what follows is no gap. */
	pause(now: Millis): void {
		this.#gap(now);
		this.#lastPicture = undefined;
	}

	#gap(now: Millis): void {
		if (this.#lastPicture !== undefined && now - this.#lastPicture > GAP) this.#stalled += now - this.#lastPicture;
	}

	#track(kind: Kind, priority: number): TrackReport {
		const key = `${kind} ${priority}`;
		let t = this.#tracks.get(key);
		if (!t) {
			t = { kind, priority, cancelled: 0, dropped: 0, unknown: 0, delays: new Map() };
			this.#tracks.set(key, t);
		}
		return t;
	}

	/** Notes how often groups were given up, by the name of a track. Counts that have begun anew are taken whole. */
	counts(name: string, c: TrackCounts): void {
		const before = this.#counted.get(name);
		const since = (now: number, then: number | undefined) => (then === undefined || now < then ? now : now - then);
		const t = this.#track(c.kind, c.priority);
		t.cancelled += since(c.cancelled, before?.cancelled);
		t.dropped += since(c.dropped, before?.dropped);
		this.#counted.set(name, c);
		forgetOldest(this.#counted, MAX_TRACKS);
	}

	/** The report of the time since the last one; undefined if nothing has happened in it. */
	take(now: Millis): Uint8Array<ArrayBuffer> | undefined {
		const tracks = [...this.#tracks.values()];
		const { stalled, period } = { stalled: this.#stalled, period: now - this.#began };
		this.#tracks.clear();
		this.#stalled = 0;
		this.#began = now;
		if (tracks.length === 0 && stalled === 0) return undefined;
		return encodeReport({ period, stalled, tracks });
	}
}

/**
 * Sends reports over a session until it ends. A relay that does not take them says so, and then none are sent.
 */
export async function sendReports(session: Session, log: ReportLog, gather: () => void): Promise<void> {
	if (session.transport.protocol === PROTOCOL_16) return; // which has no tracks between two ends
	const track = session.publish(REPORT_TRACK);
	try {
		await track.ok;
	} catch {
		return;
	}
	let group = 0;
	const send = () => {
		gather();
		const report = log.take(performance.now());
		if (report) track.write(group++, report).catch(() => undefined); // the session is over, which others notice
		timer = setTimeout(send, PERIOD);
	};
	let timer = setTimeout(send, FIRST);
	await track.done;
	clearTimeout(timer);
}
