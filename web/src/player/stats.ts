import type { Millis } from "../media/frame.ts";

/** What the player measures, summed up twice a second. Absent values are not known. */
export interface PlayerStats {
	/** Milliseconds since 1970. */
	at: number;
	video: VideoStats[];
	audio: AudioStats | undefined;
	/** The rendition that is shown. */
	showing: string | undefined;
	/** How long a frame waits that came the shortest way. */
	buffer: Millis | undefined;
	/** What the buffer should be; with "auto" the same as buffer. */
	target: Millis | "auto";
	/** How much later the sound is heard than the picture is drawn that belongs to it; undefined while one of them is missing. */
	skew: Millis | undefined;
	/** Pictures shown in the last second. */
	framerate: number;
	/** All media, bits per second over the last second. */
	bitrate: number;
	/** Round-trip time of the connection, where the browser tells. */
	rtt: Millis | undefined;
	/** The version of MOQT, where the browser tells. */
	protocol: string | undefined;
	/** From the first request to the first picture. */
	firstPicture: Millis | undefined;
	/** Since the start. */
	reconnects: number;
}

export interface VideoStats {
	name: string;
	/** Capture to screen, of the pictures shown since the last summary. */
	delay: Distribution | undefined;
	/** Capture to arrival, of the frames that came since the last summary. */
	transit: Distribution | undefined;
	/** How much later than the shortest way frames came, since the last summary. */
	lateness: Distribution | undefined;
	bitrate: number;
	/** Since the start. */
	received: number;
	shown: number;
	/** Groups given up because they were too late, and those not shown to their end for other reasons. */
	cancelled: number;
	dropped: number;
	decodeTime: Millis | undefined;
}

export interface AudioStats {
	name: string;
	datagrams: boolean;
	bitrate: number;
	/** Capture to loudspeaker, of the packets that came since the last summary. */
	delay: Distribution | undefined;
	lateness: Distribution | undefined;
	/** Sound that lies ready. */
	ahead: Millis;
	/** Since the start: packets lost or late, and time without sound. */
	lost: number;
	silence: Millis;
	received: number;
}

export interface Distribution {
	p50: Millis;
	p95: Millis;
	max: Millis;
	count: number;
}

/** Collects values and sums them up. */
export class Samples {
	#values: number[] = [];

	add(x: number): void {
		if (this.#values.length < 2000) this.#values.push(x);
	}

	/** Sums up what there was since the last time. */
	take(): Distribution | undefined {
		const v = this.#values.splice(0).sort((a, b) => a - b);
		const last = v.at(-1);
		if (last === undefined) return undefined;
		const at = (q: number) => v[Math.min(v.length - 1, Math.floor(q * v.length))] as number;
		return { p50: at(0.5), p95: at(0.95), max: last, count: v.length };
	}
}

/** Counts things per second, over the last second. */
export class Rate {
	#events: { at: Millis; n: number }[] = [];

	add(n: number, now: Millis): void {
		this.#forget(now);
		this.#events.push({ at: now, n });
	}

	perSecond(now: Millis): number {
		this.#forget(now);
		return this.#events.reduce((sum, e) => sum + e.n, 0);
	}

	#forget(now: Millis): void {
		while (this.#events[0] && this.#events[0].at <= now - 1000) this.#events.shift();
	}

	/** How many things are kept. */
	get size(): number {
		return this.#events.length;
	}
}

/** Keeps a map from growing: above so many entries those go that came first. */
export function forgetOldest<K>(map: Map<K, unknown>, most: number): void {
	for (const key of map.keys()) {
		if (map.size <= most) return;
		map.delete(key);
	}
}
