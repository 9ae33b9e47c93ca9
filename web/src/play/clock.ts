import type { Kind, Micros, Millis } from "../media/frame.ts";
import { Transit } from "./transit.ts";

/** How long frames wait so that late ones are in time: fixed, or as much as the last seconds needed. */
export type Target = Millis | "auto";

export const MIN_TARGET: Millis = 20;
export const MAX_TARGET: Millis = 2000;

/** What of the arrivals the adaptive target covers, and what is added to it. */
const QUANTILE = 0.98;
const MARGIN: Millis = 12;

/** How far the picture may be ahead of the sound, where waiting for the sound's longer way would delay it. */
export const MAX_LEAD: Millis = 40;
/** What the audio thread needs beside the output's latency. */
const AUDIO_SAFETY: Millis = 15;

/** How fast the offset moves, in milliseconds per second; what is further away is jumped to. */
const SLEW_DOWN = 15;
const SLEW_UP = 40;
const JUMP_UP: Millis = 40;
const JUMP_DOWN: Millis = 250;
/** What is too much by so much for so long is jumped over too. */
const EXCESS: Millis = 60;
const EXCESS_TIME: Millis = 2000;

/** If all that came for this long was late, the way has become longer. */
const ALL_LATE: Millis = 800;
const ALL_LATE_FRAMES = 8;

/** Media time that is off by so much for so many frames in a row is another timeline. */
const OTHER_TIMELINE: Millis = 5000;
const OTHER_TIMELINE_FRAMES = 5;

interface TrackState {
	kind: Kind;
	transit: Transit;
	strange: number;
}

/**
 * Says when a media time is to be shown and heard: at pts + offset. Sound and picture share one timeline; the picture
 * may lead by up to MAX_LEAD where the target is shorter than what the sound's output takes.
 *
 * Feed arrived, call advance regularly, and read video and audio.
 */
export class PlayoutClock {
	#target: Target;
	#tracks = new Map<string, TrackState>();
	/** Of the picture. */
	#offset: Millis | undefined;
	/** How much later the sound is. */
	#lag: Millis = 0;
	#at: Millis = 0;
	/** Since when the offset has been larger than wanted by EXCESS. */
	#excessSince: Millis | undefined;
	#outputLatency: Millis | undefined;

	constructor(target: Target = "auto") {
		this.#target = target;
	}

	get target(): Target {
		return this.#target;
	}

	set target(t: Target) {
		this.#target = t === "auto" ? t : Math.min(MAX_TARGET, Math.max(MIN_TARGET, t));
	}

	/** How long the sound's output takes; undefined while no sound is heard. */
	set outputLatency(l: Millis | undefined) {
		this.#outputLatency = l;
	}

	/** A frame of a track is ready. It returns true if the timeline has begun anew with it. */
	arrived(track: string, kind: Kind, pts: Micros, now: Millis): boolean {
		let t = this.#tracks.get(track);
		if (!t) {
			t = { kind, transit: new Transit(), strange: 0 };
			this.#tracks.set(track, t);
		}
		const expected = this.#offset;
		const strange =
			expected !== undefined && t.transit.settled && Math.abs(now - pts / 1000 - expected) > OTHER_TIMELINE;
		t.strange = strange ? t.strange + 1 : 0;
		if (strange && t.strange < OTHER_TIMELINE_FRAMES) return false;
		if (strange) this.reset();
		(this.#tracks.get(track) ?? this.#add(track, kind)).transit.add(now, pts);
		if (this.#offset === undefined) this.advance(now);
		return strange;
	}

	#add(track: string, kind: Kind): TrackState {
		const t = { kind, transit: new Transit(), strange: 0 };
		this.#tracks.set(track, t);
		return t;
	}

	/** A track was joined: it begins with what lies back. */
	joined(track: string): void {
		this.#tracks.get(track)?.transit.joined();
	}

	left(track: string): void {
		this.#tracks.delete(track);
	}

	/** Forgets everything: a new broadcast. */
	reset(): void {
		this.#tracks.clear();
		this.#offset = undefined;
		this.#lag = 0;
	}

	/** Moves the offsets towards what the arrivals ask for. */
	advance(now: Millis): void {
		const want = this.#want(now);
		if (want === undefined) return;
		const seconds = Math.max(0, (now - this.#at) / 1000);
		this.#at = now;
		if (this.#offset === undefined) {
			this.#offset = want.video;
			this.#lag = want.lag;
			return;
		}
		const by = want.video - this.#offset;
		if (by > -EXCESS) this.#excessSince = undefined;
		else this.#excessSince ??= now;
		const lasting = this.#excessSince !== undefined && now - this.#excessSince > EXCESS_TIME;
		if (by > JUMP_UP || by < -JUMP_DOWN || lasting) this.#offset = want.video;
		else this.#offset += Math.min(SLEW_UP * seconds, Math.max(-SLEW_DOWN * seconds, by));
		this.#lag += Math.min(SLEW_UP * seconds, Math.max(-SLEW_DOWN * seconds, want.lag - this.#lag));
	}

	#want(now: Millis): { video: Millis; lag: Millis } | undefined {
		const all = [...this.#tracks.values()];
		const settled = this.#together(all.filter((t) => t.transit.settled));
		for (const t of settled) this.#noticeLongerWay(t, now);
		const base = this.#base(settled.length > 0 ? settled : all, settled.length > 0);
		if (base === undefined) return undefined;
		let video: Millis;
		if (this.#target === "auto") {
			const needs = settled.map((t) => t.transit.quantile(QUANTILE, now) ?? base);
			const need = needs.length > 0 ? Math.max(...needs) + MARGIN - base : 100;
			video = base + Math.min(MAX_TARGET, Math.max(MIN_TARGET, need));
		} else {
			video = base + this.#target;
		}
		let audio = video;
		for (const t of settled) {
			if (t.kind !== "audio" || this.#outputLatency === undefined) continue;
			const least = (this.#target === "auto" ? t.transit.quantile(QUANTILE, now) : t.transit.min) ?? base;
			audio = Math.max(audio, Math.min(least, base + MAX_TARGET) + this.#outputLatency + AUDIO_SAFETY);
		}
		video = Math.max(video, audio - MAX_LEAD);
		return { video, lag: audio - video };
	}

	/** Without tracks that come so much later than others that waiting for them would be worse than to lose them. */
	#together(tracks: TrackState[]): TrackState[] {
		const first = Math.min(...tracks.map((t) => t.transit.min ?? Number.POSITIVE_INFINITY));
		return tracks.filter((t) => (t.transit.min ?? first) <= first + MAX_TARGET);
	}

	#base(tracks: TrackState[], settled: boolean): Millis | undefined {
		const mins = tracks.map((t) => t.transit.min).filter((m) => m !== undefined);
		if (mins.length === 0) return undefined;
		// Tracks that still catch up seem to be later than they are.
		return settled ? Math.max(...mins) : Math.min(...mins);
	}

	#noticeLongerWay(t: TrackState, now: Millis): void {
		if (this.#offset === undefined) return;
		const offset = this.#offset + (t.kind === "audio" ? this.#lag : 0);
		const recent = t.transit.minSince(now - ALL_LATE, ALL_LATE_FRAMES);
		if (recent !== undefined && recent > offset) t.transit.forget(now - ALL_LATE);
	}

	/** When the picture of a media time is to be shown; undefined before anything has come. */
	video(pts: Micros): Millis | undefined {
		return this.#offset === undefined ? undefined : pts / 1000 + this.#offset;
	}

	/** Local time minus media time, for the picture. */
	get videoOffset(): Millis | undefined {
		return this.#offset;
	}

	/** Local time minus media time at which the sound is to be heard. */
	get audioOffset(): Millis | undefined {
		return this.#offset === undefined ? undefined : this.#offset + this.#lag;
	}

	/** When a frame would be here that has taken the shortest way. */
	nominal(pts: Micros): Millis | undefined {
		const settled = [...this.#tracks.values()].filter((t) => t.transit.settled);
		const base = this.#base(this.#together(settled), true);
		return base === undefined ? undefined : pts / 1000 + base;
	}

	/** How much later a frame comes than the quickest one of its track; undefined while the track catches up. */
	lateness(track: string, pts: Micros, now: Millis): Millis | undefined {
		const t = this.#tracks.get(track)?.transit;
		if (!t?.settled || t.min === undefined) return undefined;
		return Math.max(0, now - pts / 1000 - t.min);
	}

	/** How long a frame waits that came the shortest way. */
	get buffer(): Millis | undefined {
		const base = this.nominal(0);
		return base === undefined || this.#offset === undefined ? undefined : this.#offset - base;
	}
}
