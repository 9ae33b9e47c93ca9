import { decoderDescription } from "../media/codec.ts";
import type { EncodedFrame, Millis, Rendition } from "../media/frame.ts";
import { MediaError } from "../media/frame.ts";
import { newUnpacker, type Unpacker } from "../media/unpack.ts";
import type { Session } from "../moqt/session.ts";
import type { IncomingSubgroup, Subscription } from "../moqt/subscription.ts";
import type { PlayoutClock } from "../play/clock.ts";
import { GroupSequencer } from "../play/groups.ts";
import type { Picture } from "../play/picker.ts";
import { ProtocolError } from "../wire/errors.ts";
import { PlayerError } from "./problem.ts";
import { forgetOldest, Rate, Samples, type VideoStats } from "./stats.ts";

/** How long before it is due a frame goes to the decoder. */
const DECODE_AHEAD: Millis = 150;
/** Most frames inside the decoder at once, unless it catches up. */
const IN_DECODER = 4;
/** A picture that takes longer says nothing of the next ones. */
const MAX_DECODE_TIME: Millis = 100;
/** Frames whose arrival is remembered; more than ever wait. */
const MAX_ARRIVALS = 1000;
/** Frames whose picture has not come out of the decoder yet; more than it ever holds. */
const MAX_PENDING = 64;
/** So many errors of the decoder without a picture between them, and it cannot decode this. */
const MAX_ERRORS = 3;

/** A decoded picture with what is known of it. */
export interface Shot extends Picture {
	frame: VideoFrame;
	/** Microseconds since 1970. */
	capture: number | undefined;
	track: VideoTrack;
}

export interface VideoTrackEvents {
	picture(s: Shot): void;
	/** An object came. */
	arrived(): void;
	/** A group has come to its end, or was given up because it was late. */
	group(track: VideoTrack, id: number, late: boolean): void;
	/** The timeline has begun anew. */
	timeline(): void;
	/** The subscription is over, or decoding is not possible. */
	ended(track: VideoTrack, reason: Error | undefined): void;
	/** The time of day, in milliseconds since 1970. */
	wall(now: Millis): Millis;
	/** How many pictures of this track wait to be shown. */
	waiting(track: VideoTrack): number;
}

interface Pending {
	capture: number | undefined;
	group: number;
	fed: Millis;
	/** When it came from the network. */
	arrived: Millis;
	/** The decoder had nothing else to do. */
	alone: boolean;
}

/** One rendition: its subscription, the order of its groups, and its decoder. */
export class VideoTrack {
	readonly rendition: Rendition;
	readonly #clock: PlayoutClock;
	readonly #events: VideoTrackEvents;
	readonly #unpacker: Unpacker;
	readonly #groups = new GroupSequencer();
	readonly #streams = new Map<number, IncomingSubgroup>();
	readonly #subscription: Subscription;
	#decoder: VideoDecoder | undefined;
	#config: Uint8Array | undefined;
	#pending = new Map<number, Pending>();
	#arrivals = new Map<number, Millis>();
	#needKey = true;
	#errors = 0;
	#closed = false;
	#decodeTime: Millis | undefined;

	readonly #bits = new Rate();
	readonly #lateness = new Samples();
	readonly #transit = new Samples();
	readonly delay = new Samples();
	received = 0;
	shown = 0;
	/** That of the publisher, by the newest group. [MOQT-18] Section 7.2, Scheduling Algorithm */
	priority = 128;

	constructor(
		session: Session,
		namespace: readonly string[],
		r: Rendition,
		clock: PlayoutClock,
		events: VideoTrackEvents,
		priority: number,
	) {
		this.rendition = r;
		this.#clock = clock;
		this.#events = events;
		this.#unpacker = newUnpacker(r);
		this.#config = r.description;
		clock.joined(r.name);
		this.#subscription = session.subscribe(
			{ namespace, name: r.name },
			{ filter: { type: "LargestObject" }, forward: true, subscriberPriority: priority, groupOrder: "descending" },
			{ subgroup: (s) => this.#receive(s), datagram: () => undefined },
		);
		this.#subscription.ok.catch(() => undefined);
		void this.#subscription.done.then((reason) => {
			if (!this.#closed) events.ended(this, reason);
		});
	}

	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#subscription.close();
		for (const s of this.#streams.values()) s.cancel();
		this.#streams.clear();
		this.#closeDecoder();
		this.#clock.left(this.rendition.name);
	}

	async #receive(s: IncomingSubgroup): Promise<void> {
		const id = Number(s.header.groupId);
		if (this.#closed || !this.#groups.open(id)) {
			s.cancel();
			return;
		}
		this.#streams.set(id, s);
		this.priority = s.header.priority ?? this.priority;
		this.#cancelStreams();
		let complete = false;
		try {
			for (;;) {
				const o = await s.next();
				if (!o) {
					complete = !s.cancelled;
					break;
				}
				if (this.#closed) return;
				if (o.status !== 0) continue;
				const now = performance.now();
				for (const f of this.#unpacker.unpack({ ...o, id: Number(o.id) })) this.#arrived(id, f, now);
				this.#bits.add(8 * o.payload.length, now);
				this.#events.arrived();
				this.pump(now);
			}
		} catch (err) {
			if (err instanceof ProtocolError) throw err;
			if (err instanceof MediaError) {
				s.cancel();
				console.warn(`moq-player: track ${this.rendition.name}, group ${id}: ${err.message}`);
			}
		} finally {
			if (this.#streams.get(id) === s) this.#streams.delete(id);
			if (!s.cancelled) this.#groups.close(id, complete);
			if (complete && !this.#closed) this.#events.group(this, id, false);
		}
	}

	#arrived(group: number, f: EncodedFrame, now: Millis): void {
		this.received++;
		const ready = now + (this.#decodeTime ?? 5);
		const late = this.#clock.lateness(this.rendition.name, f.pts, ready);
		if (late !== undefined) this.#lateness.add(late);
		if (f.capture !== undefined) this.#transit.add(this.#events.wall(now) - f.capture / 1000);
		this.#groups.push(group, f);
		const timestamp = Math.round(f.pts);
		this.#arrivals.set(timestamp, now);
		forgetOldest(this.#arrivals, MAX_ARRIVALS);
	}

	/** Hands the decoder what is due soon. */
	pump(now: Millis): void {
		if (this.#closed) return;
		const due = (pts: number) => this.#clock.video(pts) ?? now;
		for (;;) {
			const q = this.#groups.next(now, due);
			this.#cancelStreams();
			for (const id of this.#groups.takeSkipped()) this.#events.group(this, id, true);
			if (!q) return;
			const wait = due(q.frame.pts) - now;
			if (wait > DECODE_AHEAD) return;
			// Frames whose time has passed are only there to be decoded.
			const room = wait < -100 ? 16 : IN_DECODER;
			if (this.#pending.size >= room) return;
			// Pictures that wait for their time hold decoder buffers. Those whose time has passed hold nobody up: where there
			// is too much to do, screen and decoder included, what is old is left out rather than everything late.
			if (wait > 0 && this.#events.waiting(this) >= IN_DECODER) return;
			this.#groups.take();
			this.#decode(q.frame, q.group, now);
			if (this.#closed) return;
		}
	}

	/** Gives up the group that comes in if it is later than limit. */
	checkLate(now: Millis, limit: Millis): void {
		const id = this.#groups.checkLate(now, limit, (pts) => this.#clock.nominal(pts) ?? now);
		this.#cancelStreams();
		if (id === undefined) return;
		this.#needKey = true;
		this.#events.group(this, id, true);
	}

	/** The timeline has begun anew, or the publisher has: group ids may be lower now. */
	restart(): void {
		this.#groups.restart();
		this.#cancelStreams();
		this.#needKey = true;
	}

	#cancelStreams(): void {
		for (const id of this.#groups.takeCancelled()) {
			this.#streams.get(id)?.cancel();
			this.#streams.delete(id);
		}
	}

	#decode(f: EncodedFrame, group: number, now: Millis): void {
		if (f.config) this.#configure(f.config);
		if (f.key) this.#needKey = false;
		else if (this.#needKey) return;
		const timestamp = Math.round(f.pts);
		const arrived = this.#arrivals.get(timestamp) ?? now;
		this.#arrivals.delete(timestamp);
		this.#pending.set(timestamp, { capture: f.capture, group, fed: now, arrived, alone: this.#pending.size === 0 });
		forgetOldest(this.#pending, MAX_PENDING);
		try {
			this.#decoder ??= this.#open();
			this.#decoder.decode(new EncodedVideoChunk({ type: f.key ? "key" : "delta", timestamp, data: f.data }));
		} catch (err) {
			this.#failed(err);
		}
	}

	#configure(config: Uint8Array): void {
		if (this.#config && equal(this.#config, config)) return;
		this.#config = config;
		if (this.#decoder?.state === "configured") this.#decoder.configure(this.#decoderConfig());
	}

	#decoderConfig(): VideoDecoderConfig {
		const r = this.rendition;
		const config: VideoDecoderConfig = { codec: r.codec, optimizeForLatency: true };
		const description = decoderDescription(r.codec, this.#config);
		if (description) config.description = description.slice();
		if (r.width > 0 && r.height > 0) {
			config.codedWidth = r.width;
			config.codedHeight = r.height;
		}
		return config;
	}

	#open(): VideoDecoder {
		const decoder = new VideoDecoder({
			output: (frame) => this.#output(decoder, frame),
			error: (err) => {
				if (this.#decoder === decoder) this.#failed(err);
			},
		});
		decoder.configure(this.#decoderConfig());
		return decoder;
	}

	#output(decoder: VideoDecoder, frame: VideoFrame): void {
		const p = this.#pending.get(frame.timestamp);
		if (this.#closed || this.#decoder !== decoder || !p) {
			frame.close();
			return;
		}
		// Frames come out in order, so what was before this one and is still here was not shown.
		for (const t of this.#pending.keys()) {
			this.#pending.delete(t);
			if (t === frame.timestamp) break;
		}
		this.#errors = 0;
		const now = performance.now();
		const took = now - p.fed;
		// What waits in the decoder behind others is not what decoding takes; and the first one pays for its start.
		if (p.alone && took < MAX_DECODE_TIME) this.#decodeTime = (this.#decodeTime ?? 5) * 0.9 + took * 0.1;
		// A frame is ready when it is decoded; what it waited for its turn before that was free. A decoder that cannot keep
		// up is no longer way, which the clock would allow for: what is late then is left out.
		const ready = p.arrived + Math.min(took, MAX_DECODE_TIME);
		if (this.#clock.arrived(this.rendition.name, "video", frame.timestamp, ready)) this.#events.timeline();
		this.#events.picture({
			pts: frame.timestamp,
			group: p.group,
			capture: p.capture,
			frame,
			track: this,
			close: () => frame.close(),
		});
		this.pump(now);
	}

	#failed(err: unknown): void {
		this.#closeDecoder();
		this.#errors++;
		if (this.#errors < MAX_ERRORS) return;
		const reason = err instanceof Error ? err.message : String(err);
		this.#events.ended(this, new PlayerError("codec", `${this.rendition.codec}: ${reason}`));
	}

	#closeDecoder(): void {
		const decoder = this.#decoder;
		this.#decoder = undefined;
		this.#pending.clear();
		this.#needKey = true;
		if (decoder && decoder.state !== "closed") decoder.close();
	}

	/** Groups given up because they were too late, and those not shown to their end for other reasons. */
	get counts(): { cancelled: number; dropped: number } {
		const { late, skipped, reset, overflow } = this.#groups.counts;
		return { cancelled: late, dropped: skipped + reset + overflow };
	}

	stats(now: Millis): VideoStats {
		return {
			name: this.rendition.name,
			delay: this.delay.take(),
			transit: this.#transit.take(),
			lateness: this.#lateness.take(),
			bitrate: this.#bits.perSecond(now),
			received: this.received,
			shown: this.shown,
			...this.counts,
			decodeTime: this.#decodeTime,
		};
	}
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
	return a.length === b.length && a.every((x, i) => x === b[i]);
}

/** Whether this browser can decode a rendition. */
export async function canDecodeVideo(r: Rendition): Promise<boolean> {
	try {
		const config: VideoDecoderConfig = { codec: r.codec, optimizeForLatency: true };
		if (r.width > 0 && r.height > 0) Object.assign(config, { codedWidth: r.width, codedHeight: r.height });
		return (await VideoDecoder.isConfigSupported(config)).supported === true;
	} catch {
		return false;
	}
}
