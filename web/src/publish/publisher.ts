import type { Millis } from "../media/frame.ts";
import { Broadcast, OutgoingTrack } from "../moqt/publisher.ts";
import type { Session } from "../moqt/session.ts";
import { PROTOCOLS } from "../moqt/transport.ts";
import { dial } from "../player/dial.ts";
import { PlayerError, type Problem, problemOf } from "../player/problem.ts";
import { Rate } from "../player/stats.ts";
import { parseNamespace } from "../wire/namespace.ts";
import { NO_PROPERTIES } from "../wire/object.ts";
import { buildMsf, type Listing, MSF_TRACK } from "./catalog.ts";
import { AudioRendition, chooseCodec, PRIORITY, VideoRendition } from "./encode.ts";
import type { MediaInput } from "./sources.ts";

export interface PublishConfig {
	url: string;
	namespace: string;
	codecs: string[];
	framerate: number;
	/** Bits per second of the better picture; the small one gets a quarter. */
	bitrate: number;
	audioBitrate: number;
	/** Seconds between key frames. */
	groupSeconds: number;
	/** Heights of the renditions, the smallest first. */
	heights: number[];
}

export interface PublishStats {
	live: boolean;
	problem: Problem | undefined;
	subscribers: number;
	video: { name: string; codec: string; bitrate: number; framerate: number; skipped: number; cut: number }[];
	audioBitrate: number | undefined;
}

const RETRY_MIN: Millis = 500;
const RETRY_MAX: Millis = 5000;

/** Encodes an input and publishes it; it connects again by itself. */
export class Publisher {
	readonly #config: PublishConfig;
	readonly #input: MediaInput;
	readonly #broadcast: Broadcast;
	readonly #catalog = new OutgoingTrack(MSF_TRACK, PRIORITY.catalog);
	readonly #abort = new AbortController();
	readonly #rates = new Map<string, { bits: Rate; frames: Rate; lastBits: number; lastFrames: number }>();
	/** Ids begin with the time, so that they rise over restarts. */
	#group = Date.now();
	#groupStart = Number.NEGATIVE_INFINITY;
	#catalogGroup = Date.now();
	#listed = "";
	#video: VideoRendition[] = [];
	#audio: AudioRendition | undefined;
	#session: Session | undefined;
	#live = false;
	#problem: Problem | undefined;

	constructor(config: PublishConfig, input: MediaInput) {
		this.#config = config;
		this.#input = input;
		this.#broadcast = new Broadcast(parseNamespace(config.namespace));
		this.#broadcast.add(this.#catalog);
	}

	/** Starts encoding, then connects. It throws if nothing can be encoded. */
	async start(audioWorklet: URL): Promise<void> {
		const { framerate, bitrate } = this.#config;
		const fail = (err: Error) => {
			this.#problem = problemOf(new PlayerError("codec", err.message));
		};
		const heights = this.#config.heights.filter((h) => h <= this.#input.height);
		if (heights.length === 0) heights.push(this.#input.height);
		for (const [i, height] of heights.entries()) {
			const best = i === heights.length - 1;
			const s = {
				name: `video-${height}p`,
				width: Math.round((height * this.#input.width) / this.#input.height / 2) * 2,
				height,
				framerate,
				bitrate: best ? bitrate : Math.round(bitrate / 4),
				priority: i === 0 ? PRIORITY.video : PRIORITY.better,
			};
			const codec = await chooseCodec(this.#config.codecs, s);
			if (!codec) continue;
			const r = new VideoRendition({ ...s, codec }, this.#input, () => this.#list(), fail);
			this.#video.push(r);
			this.#broadcast.add(r.track);
		}
		if (this.#video.length === 0) {
			throw new PlayerError("codec", `This browser encodes none of ${this.#config.codecs.join(", ")} in this size.`);
		}
		if (this.#input.audio && typeof AudioEncoder !== "undefined") {
			const a = new AudioRendition(this.#config.audioBitrate, Date.now(), fail);
			await a.start(this.#input.audio, audioWorklet);
			this.#audio = a;
			this.#broadcast.add(a.datagrams);
			this.#broadcast.add(a.streams);
		}
		this.#input.start((frame, time) => this.#frame(frame, time));
		void this.#run();
	}

	/** Tells the subscribers that it is over, and stops. */
	async stop(): Promise<void> {
		this.#broadcast.end();
		await new Promise((resolve) => setTimeout(resolve, 150)); // so that it gets there
		this.#abort.abort();
		this.#session?.close();
		this.#input.stop();
		for (const r of this.#video) r.close();
		this.#audio?.close();
		this.#live = false;
	}

	#frame(frame: VideoFrame, time: number): void {
		// Time stamps are those of the wall clock, which other sources of frames do not have.
		const stamped = new VideoFrame(frame, { timestamp: Math.round(time * 1000) });
		frame.close();
		let group: number | undefined;
		if (time - this.#groupStart >= this.#config.groupSeconds * 1000 - 10) {
			this.#groupStart = time;
			group = ++this.#group;
		}
		for (const r of this.#video) r.encode(stamped, group);
		stamped.close();
	}

	/** Publishes the catalog once all encoders have told their configuration, and again when it changes. */
	#list(): void {
		const listings: Listing[] = this.#video.map((r) => ({
			name: r.settings.name,
			role: "video",
			codec: r.codec,
			altGroup: 1,
			bitrate: r.settings.bitrate,
			width: r.settings.width,
			height: r.settings.height,
			framerate: r.settings.framerate,
			...(r.config ? { config: r.config } : {}),
		}));
		const audio = this.#audio;
		if (audio) {
			const common = {
				role: "audio" as const,
				codec: "opus",
				altGroup: 2,
				bitrate: audio.bitrate,
				samplerate: 48000,
				channelConfig: "2",
			};
			listings.push({ ...common, name: audio.streams.name });
			listings.push({ ...common, name: audio.datagrams.name, delivery: "datagram" });
		}
		if (this.#video.some((r) => r.settings.codec.startsWith("avc1") && !r.config)) return;
		const listed = JSON.stringify(listings);
		if (listed === this.#listed) return;
		this.#listed = listed;
		const payload = buildMsf(listings, Date.now());
		this.#catalog.write({ group: this.#catalogGroup++, id: 0, properties: NO_PROPERTIES, payload });
	}

	async #run(): Promise<void> {
		const { signal } = this.#abort;
		for (let wait = RETRY_MIN; !signal.aborted; wait = Math.min(RETRY_MAX, 2 * wait)) {
			try {
				const session = await dial(
					{ url: this.#config.url, fingerprint: undefined },
					{ onRequest: (r) => this.#broadcast.serve(() => this.#session, r), protocols: PROTOCOLS.slice(0, 1) },
					signal,
				);
				this.#session = session;
				this.#broadcast.reset();
				const announced = session.publishNamespace(this.#broadcast.namespace);
				await announced.ok;
				this.#live = true;
				this.#problem = undefined;
				wait = RETRY_MIN;
				const reason = await Promise.race([session.closed, announced.done]);
				session.close();
				throw reason ?? new PlayerError("connection-lost", "The relay has ended the broadcast.");
			} catch (err) {
				this.#live = false;
				this.#session?.close();
				this.#session = undefined;
				if (signal.aborted) return;
				this.#problem = problemOf(err);
				if (!this.#problem.retrying) return;
			}
			await new Promise((resolve) => setTimeout(resolve, wait));
		}
	}

	/** What there is to tell; call it regularly. */
	stats(now: Millis): PublishStats {
		const video = this.#video.map((r) => {
			const name = r.settings.name;
			const rate = this.#rates.get(name) ?? { bits: new Rate(), frames: new Rate(), lastBits: 0, lastFrames: 0 };
			this.#rates.set(name, rate);
			rate.bits.add(r.bits - rate.lastBits, now);
			rate.frames.add(r.frames - rate.lastFrames, now);
			rate.lastBits = r.bits;
			rate.lastFrames = r.frames;
			return {
				name,
				codec: r.codec,
				bitrate: rate.bits.perSecond(now),
				framerate: rate.frames.perSecond(now),
				skipped: r.skipped,
				cut: r.track.cut,
			};
		});
		let audioBitrate: number | undefined;
		if (this.#audio) {
			const rate = this.#rates.get("audio") ?? { bits: new Rate(), frames: new Rate(), lastBits: 0, lastFrames: 0 };
			this.#rates.set("audio", rate);
			rate.bits.add(this.#audio.bits - rate.lastBits, now);
			rate.lastBits = this.#audio.bits;
			audioBitrate = rate.bits.perSecond(now);
		}
		const subscribers = [...this.#broadcast.tracks.values()].reduce((n, t) => n + t.subscribers, 0);
		return { live: this.#live, problem: this.#problem, subscribers, video, audioBitrate };
	}
}
