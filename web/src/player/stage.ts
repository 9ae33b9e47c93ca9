import { type Catalog, MAX_TRACKS } from "../media/catalog.ts";
import type { EncodedFrame, Millis, Rendition } from "../media/frame.ts";
import type { Session } from "../moqt/session.ts";
import { PlayoutClock, type Target } from "../play/clock.ts";
import { LipSync } from "../play/lipsync.ts";
import { Picker } from "../play/picker.ts";
import { QualityControl } from "../play/quality.ts";
import type { Namespace } from "../wire/namespace.ts";
import { AudioTrack, canDecodeAudio } from "./audio-track.ts";
import type { Quality, ShownFrame, SoundClock } from "./messages.ts";
import { PlayerError, type Problem, problem } from "./problem.ts";
import { ReportLog } from "./reporter.ts";
import { SoundLink } from "./sound-link.ts";
import { forgetOldest, type PlayerStats, Rate } from "./stats.ts";
import { canDecodeVideo, type Shot, VideoTrack, type VideoTrackEvents } from "./video-track.ts";
import { WallClock } from "./wallclock.ts";

/** How much later than its time a group of the better rendition may be. */
const LATE_LIMIT: Millis = 250;
/** No picture for so long, and the picture counts as standing still. */
const STALL: Millis = 1000;
/** No datagram for so long after pictures have come, and the sound is taken from streams. */
const DATAGRAM_PATIENCE: Millis = 2500;
/** No animation frame for so long, and nobody sees what is drawn. */
const BACKGROUND: Millis = 500;
/** Pictures are shown up to this long before they are due, as that is what the next one would be late by. */
const HALF_REFRESH: Millis = 8;

export interface StageEvents {
	playing(): void;
	stalled(): void;
	size(width: number, height: number): void;
	/** A picture was shown, if the page wants to know. */
	frame(f: ShownFrame): void;
}

/**
 * Everything between the subscriptions and screen and loudspeaker: which tracks are received, when what is shown, and
 * what is measured.
 */
export class Stage {
	readonly clock = new PlayoutClock();
	readonly #canvas: OffscreenCanvas;
	readonly #context: OffscreenCanvasRenderingContext2D | null;
	readonly #events: StageEvents;
	readonly #picker = new Picker<Shot>();
	readonly #lipSync = new LipSync();
	readonly #sound: SoundLink;
	readonly #wall = new WallClock();
	/** What is told to the relay. */
	readonly log = new ReportLog(performance.now());

	#session: Session | undefined;
	#namespace: Namespace = [];
	#listing = "";
	/** Those that automatic quality chooses from, the smallest first; and all that can be chosen. */
	#video: Rendition[] = [];
	#allVideo: Rendition[] = [];
	#audio: Rendition[] = [];
	#small: VideoTrack | undefined;
	#better: VideoTrack | undefined;
	#audioTrack: AudioTrack | undefined;
	#noDatagrams = false;
	#quality: Quality = "auto";
	#control = new QualityControl(1);
	#fail: (err: unknown) => void = () => undefined;

	#lastObject: Millis | undefined;
	#lastShown: Millis | undefined;
	#audioSince: Millis = 0;
	#lastFrameRequest: Millis = 0;
	#showing: string | undefined;
	#skew: Millis | undefined;
	#frames = new Rate();
	#firstPicture: Millis | undefined;
	#counts = new Map<string, { received: number; shown: number; cancelled: number; dropped: number }>();
	everShown = false;
	/** The page wants to know of each picture. */
	tellFrames = false;
	/** What keeps a part of the broadcast from being played. */
	trouble: Problem | undefined;
	/** When the present source was loaded. */
	began: Millis = 0;

	constructor(canvas: OffscreenCanvas, sound: MessagePort, events: StageEvents) {
		this.#canvas = canvas;
		this.#context = canvas.getContext("2d", { alpha: false });
		this.#events = events;
		this.#sound = new SoundLink(sound, this.#wall);
		const frame = () => {
			this.#lastFrameRequest = performance.now();
			this.#show(true);
			requestAnimationFrame(frame);
		};
		requestAnimationFrame(frame);
		setInterval(() => this.#tick(), 20);
	}

	set target(t: Target) {
		this.clock.target = t;
	}

	set quality(q: Quality) {
		if (q === this.#quality) return;
		this.#quality = q;
		this.#control = new QualityControl(this.#video.length);
		this.#choose();
	}

	set soundClock(c: SoundClock | undefined) {
		const was = this.#sound.running;
		this.#sound.setClock(c);
		this.clock.outputLatency = this.#sound.running ? this.#sound.latency : undefined;
		if (was !== this.#sound.running) this.#chooseSound();
	}

	/** The video tracks one can choose from, the best first. */
	get choices(): Rendition[] {
		return [...this.#allVideo].reverse();
	}

	get hasSound(): boolean {
		return this.#audio.length > 0;
	}

	/** How long nothing has come, although tracks are subscribed to. */
	silentFor(now: Millis): Millis {
		if (this.#lastObject === undefined || !(this.#small || this.#audioTrack)) return 0;
		return now - this.#lastObject;
	}

	/** Receives the tracks of a catalog. Called again for a new one, it changes what is different. */
	async show(session: Session, namespace: Namespace, catalog: Catalog, fail: (err: unknown) => void): Promise<void> {
		const listing = catalog.renditions.map(text).join();
		if (session === this.#session && listing === this.#listing) return;
		const video: Rendition[] = [];
		const audio: Rendition[] = [];
		// What is as it was stays subscribed to.
		const before = session === this.#session ? [...this.#allVideo, ...this.#audio] : [];
		const same = (r: Rendition) => before.find((b) => text(b) === text(r)) ?? r;
		for (const r of catalog.renditions.map(same)) {
			if (r.kind === "video" ? await canDecodeVideo(r) : await canDecodeAudio(r)) {
				(r.kind === "video" ? video : audio).push(r);
			}
		}
		if (video.length === 0 && audio.length === 0) throw undecodable(catalog);
		if (session !== this.#session) this.leave();
		const pictures = catalog.renditions.filter((r) => r.kind === "video");
		this.trouble = video.length === 0 && pictures.length > 0 ? soundOnly(pictures) : undefined;
		this.#session = session;
		this.#namespace = namespace;
		this.#listing = listing;
		this.#fail = fail;
		// Of several contents the first is taken, with its renditions; what has no alternate group stands alone.
		const group = video.find((r) => r.altGroup !== undefined)?.altGroup;
		this.#video = (group === undefined ? video.slice(0, 1) : video.filter((r) => r.altGroup === group)).sort(bySize);
		this.#allVideo = video.sort(bySize);
		this.#audio = audio.filter((r) => r.language === audio[0]?.language);
		if (!before.some((r) => this.#video.includes(r)) || this.#video.length !== this.#control.levels) {
			this.#control = new QualityControl(this.#video.length);
		}
		this.#lastObject = performance.now();
		this.#choose();
		this.#chooseSound();
	}

	/** Ends all subscriptions. The last picture stays. */
	leave(): void {
		this.#session = undefined;
		this.#listing = "";
		this.#keepCounts(this.#small);
		this.#keepCounts(this.#better);
		this.countLosses();
		this.log.pause(performance.now());
		this.#small?.close();
		this.#better?.close();
		this.#audioTrack?.close();
		this.#small = undefined;
		this.#better = undefined;
		this.#audioTrack = undefined;
		this.#picker.clear();
		this.#lastObject = undefined;
	}

	/** Ends all subscriptions and, for a new source, forgets what was before. */
	clear(everything: boolean): void {
		this.leave();
		if (!everything) return;
		this.clock.reset();
		this.#sound.restart();
		this.#showing = undefined;
		this.#skew = undefined;
		this.#firstPicture = undefined;
		this.#noDatagrams = false;
		this.#counts.clear();
		this.everShown = false;
		this.#lastShown = undefined;
	}

	/** Makes the subscriptions fit the quality that is wanted. */
	#choose(): void {
		if (!this.#session) return;
		const lowest = this.#quality === "lowest" ? this.#video[0] : undefined;
		const fixed = lowest ?? this.#allVideo.find((r) => r.name === this.#quality);
		const small = fixed ?? this.#video[0];
		const better = fixed ? undefined : this.#video[this.#control.level];
		this.#small = this.#receive("small", this.#small, small);
		this.#better = this.#receive("better", this.#better, better === small ? undefined : better);
	}

	#receive(
		which: "small" | "better",
		now: VideoTrack | undefined,
		want: Rendition | undefined,
	): VideoTrack | undefined {
		if (now?.rendition === want) return now;
		this.#keepCounts(now);
		now?.close();
		this.#picker.clear(which);
		if (!want || !this.#session) return undefined;
		const events: VideoTrackEvents = {
			picture: (s) => this.#picker.add(which, s),
			arrived: () => {
				this.#lastObject = performance.now();
			},
			group: (t, id, late) => this.#group(t, id, late),
			timeline: () => this.#restart(),
			ended: (t, reason) => this.#ended(t, reason),
			wall: (now) => this.#wall.at(now),
			waiting: () => this.#picker.waiting(which),
		};
		const priority = which === "small" ? 96 : 128;
		return new VideoTrack(this.#session, this.#namespace, want, this.clock, events, priority);
	}

	#chooseSound(): void {
		const streams = this.#audio.find((r) => !r.datagram);
		const datagrams = this.#audio.find((r) => r.datagram);
		const want = !this.#sound.running ? undefined : this.#noDatagrams ? (streams ?? datagrams) : (datagrams ?? streams);
		if (this.#audioTrack?.rendition === want) return;
		this.#audioTrack?.close();
		this.#audioTrack = undefined;
		this.#sound.restart();
		if (!want || !this.#session) return;
		this.#audioSince = performance.now();
		this.#audioTrack = new AudioTrack(
			this.#session,
			this.#namespace,
			want,
			this.clock,
			{
				sound: (pts, planes) => this.#sound.send(pts, planes),
				arrived: () => {
					this.#lastObject = performance.now();
				},
				timeline: () => this.#restart(),
				packet: (t, f) => this.#packet(t, f),
				ended: (_, reason) => this.#fail(reason ?? new PlayerError("publisher-gone", "The sound has ended.")),
			},
			this.#sound.sampleRate,
		);
	}

	/** Notes when a packet of sound will be heard. */
	#packet(t: AudioTrack, f: EncodedFrame): void {
		const now = performance.now();
		const offset = this.#sound.heardOffset(now) ?? this.clock.audioOffset;
		if (offset === undefined) return;
		const heard = f.pts / 1000 + offset;
		if (heard < now) return; // too late for it
		const delay = f.capture === undefined ? undefined : this.#wall.at(heard) - f.capture / 1000;
		if (delay !== undefined) t.delay.add(delay);
		this.log.frame("audio", t.priority, delay, now);
	}

	/** Notes for the report what the tracks have lost so far. */
	countLosses(): void {
		for (const t of [this.#small, this.#better]) {
			if (t) this.log.counts(t.rendition.name, { kind: "video", priority: t.priority, ...t.counts });
		}
		const a = this.#audioTrack;
		if (a) {
			this.log.counts(a.rendition.name, { kind: "audio", priority: a.priority, cancelled: 0, dropped: a.lost });
		}
	}

	/** Media time has begun anew. */
	#restart(): void {
		this.#picker.restart();
		this.#audioTrack?.restart();
		this.#sound.restart();
	}

	#group(t: VideoTrack, id: number, late: boolean): void {
		if (t !== this.#better) return;
		if (late) this.#picker.block(id);
		if (this.#control.group(late, performance.now())) this.#choose();
	}

	#ended(t: VideoTrack, reason: Error | undefined): void {
		if (t === this.#better && reason instanceof PlayerError) {
			// It cannot be decoded after all, but the smaller one may.
			this.#video = this.#video.filter((r) => r !== t.rendition);
			this.#allVideo = this.#allVideo.filter((r) => r !== t.rendition);
			this.#control = new QualityControl(this.#video.length);
			this.#choose();
			return;
		}
		if (t === this.#small || t === this.#better) this.#fail(reason ?? new PlayerError("publisher-gone", ""));
	}

	#tick(): void {
		const now = performance.now();
		this.clock.advance(now);
		const offset = this.clock.audioOffset;
		if (offset !== undefined) this.#sound.want(offset);
		const limit = this.clock.target === "auto" ? LATE_LIMIT : Math.max(LATE_LIMIT, this.clock.target);
		this.#better?.checkLate(now, limit);
		this.#small?.pump(now);
		this.#better?.pump(now);
		if (this.#control.advance(now)) this.#choose();
		// A page in the background gets no animation frames.
		if (now - this.#lastFrameRequest > BACKGROUND) this.#show(false);
		if (this.#allVideo.length === 0 && this.#sound.heardOffset(now) !== undefined) this.#heard(now);
		if (this.#lastShown !== undefined && now - this.#lastShown > STALL) this.#events.stalled();
		const a = this.#audioTrack;
		if (a?.rendition.datagram && a.received === 0 && now - this.#audioSince > DATAGRAM_PATIENCE && !this.#noDatagrams) {
			if (this.#audio.some((r) => !r.datagram)) {
				this.#noDatagrams = true;
				this.#chooseSound();
			}
		}
	}

	/** Local time minus media time for the picture: that of the clock, corrected by what is really heard. */
	#videoOffset(now: Millis): Millis | undefined {
		const offset = this.clock.videoOffset;
		const audioOffset = this.clock.audioOffset;
		const heard = this.#sound.heardOffset(now);
		if (offset === undefined || audioOffset === undefined || heard === undefined) return offset;
		const error = heard - audioOffset;
		return Math.abs(error) < 500 ? offset + error : offset;
	}

	#show(visible: boolean): void {
		const now = performance.now();
		const offset = this.#videoOffset(now);
		if (offset === undefined) return;
		const shot = this.#picker.pick((now + HALF_REFRESH - offset) * 1000);
		if (!shot) return;
		const { frame, track } = shot;
		const { displayWidth: width, displayHeight: height } = frame;
		const heard = this.#sound.heardOffset(now);
		const skew = heard === undefined ? undefined : heard - (now - shot.pts / 1000);
		if (!this.#lipSync.admits(skew, now)) {
			shot.close();
			return;
		}
		try {
			if (visible) this.#draw(frame);
		} finally {
			shot.close();
		}
		track.shown++;
		this.#frames.add(1, now);
		const delay = shot.capture === undefined ? undefined : this.#wall.at(now) - shot.capture / 1000;
		if (delay !== undefined) track.delay.add(delay);
		this.log.frame("video", track.priority, delay, now);
		if (this.tellFrames) {
			const captured = shot.capture === undefined ? undefined : shot.capture / 1000;
			this.#events.frame({
				at: this.#wall.at(now),
				captured,
				mediaTime: shot.pts / 1e6,
				width,
				height,
				track: track.rendition.name,
				skew,
			});
		}
		this.#skew = skew;
		this.#showing = track.rendition.name;
		this.#lastShown = now;
		this.everShown = true;
		this.#firstPicture ??= now - this.began;
		this.#events.playing();
	}

	/** Sound alone is heard, of a broadcast that has no picture or none that can be decoded. */
	#heard(now: Millis): void {
		this.#lastShown = now;
		this.everShown = true;
		this.#events.playing();
	}

	#draw(frame: VideoFrame): void {
		const { displayWidth: w, displayHeight: h } = frame;
		if (this.#canvas.width !== w || this.#canvas.height !== h) {
			this.#canvas.width = w;
			this.#canvas.height = h;
			this.#events.size(w, h);
		}
		this.#context?.drawImage(frame, 0, 0, w, h);
	}

	#keepCounts(t: VideoTrack | undefined): void {
		if (!t) return;
		const now = performance.now();
		const { name, received, shown, cancelled, dropped } = t.stats(now);
		const c = this.#counts.get(name) ?? { received: 0, shown: 0, cancelled: 0, dropped: 0 };
		this.#counts.set(name, {
			received: c.received + received,
			shown: c.shown + shown,
			cancelled: c.cancelled + cancelled,
			dropped: c.dropped + dropped,
		});
		forgetOldest(this.#counts, MAX_TRACKS);
	}

	async summary(reconnects: number): Promise<PlayerStats> {
		const now = performance.now();
		const video = [this.#small, this.#better]
			.filter((t) => t !== undefined)
			.map((t) => {
				const s = t.stats(now);
				const c = this.#counts.get(s.name);
				if (c) {
					s.received += c.received;
					s.shown += c.shown;
					s.cancelled += c.cancelled;
					s.dropped += c.dropped;
				}
				return s;
			});
		const a = this.#audioTrack;
		const status = this.#sound.status;
		const audio = a && {
			name: a.rendition.name,
			datagrams: a.rendition.datagram,
			bitrate: a.bits.perSecond(now),
			delay: a.delay.take(),
			lateness: a.lateness.take(),
			ahead: (status?.ahead ?? 0) / 1000,
			lost: a.lost + this.#sound.dropped,
			silence: ((status?.missing ?? 0) / this.#sound.sampleRate) * 1000,
			received: a.received,
		};
		const transport = this.#session?.transport;
		const network = await transport?.getStats?.().catch(() => undefined);
		return {
			at: this.#wall.at(now),
			video,
			audio,
			showing: this.#showing,
			buffer: this.clock.buffer,
			target: this.clock.target,
			skew: this.#lastShown !== undefined && now - this.#lastShown < STALL ? this.#skew : undefined,
			framerate: this.#frames.perSecond(now),
			bitrate: video.reduce((sum, v) => sum + v.bitrate, audio?.bitrate ?? 0),
			rtt: network?.smoothedRtt,
			protocol: transport?.protocol,
			firstPicture: this.#firstPicture,
			reconnects,
		};
	}
}

/** A rendition as text, to tell whether two are the same. */
function text(r: Rendition): string {
	return JSON.stringify(r, (_, v) => (v instanceof Uint8Array ? Array.from(v) : v));
}

function bySize(a: Rendition, b: Rendition): number {
	return a.width * a.height - b.width * b.height || a.bitrate - b.bitrate;
}

function soundOnly(pictures: Rendition[]): Problem {
	const codecs = [...new Set(pictures.map((r) => r.codec))].join(", ");
	return {
		...problem("codec", `It is encoded as ${codecs}. The sound is played.`),
		title: "This browser cannot decode the picture",
	};
}

function undecodable(catalog: Catalog): PlayerError {
	if (catalog.complete) return new PlayerError("ended", "Its publisher has ended it for good.");
	const codecs = [...new Set(catalog.renditions.map((r) => r.codec))];
	if (codecs.length > 0) return new PlayerError("codec", `It is encoded as ${codecs.join(", ")}.`);
	const [first] = catalog.skipped;
	return new PlayerError(
		"no-catalog",
		first ? `Track ${first.name || "without name"}: ${first.reason}.` : "It lists no tracks.",
	);
}
