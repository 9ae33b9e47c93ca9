import { decoderDescription } from "../media/codec.ts";
import { type EncodedFrame, MediaError, type Micros, type Millis, type Rendition } from "../media/frame.ts";
import { newUnpacker, type Unpacker } from "../media/unpack.ts";
import type { Session } from "../moqt/session.ts";
import type { IncomingSubgroup, Subscription } from "../moqt/subscription.ts";
import type { PlayoutClock } from "../play/clock.ts";
import { resample } from "../play/resample.ts";
import { AudioSequencer } from "../play/sequence.ts";
import { ProtocolError } from "../wire/errors.ts";
import { PlayerError } from "./problem.ts";
import { Rate, Samples } from "./stats.ts";

/** Most uni streams of sound that are read at once. */
const MAX_STREAMS = 64;
/** Packets whose output has not come yet; more than a decoder ever holds back. */
const MAX_PENDING = 200;

export interface AudioTrackEvents {
	sound(pts: Micros, planes: Float32Array[]): void;
	arrived(): void;
	/** A packet came whose time of capture is known or not. */
	packet(track: AudioTrack, f: EncodedFrame): void;
	timeline(): void;
	ended(track: AudioTrack, reason: Error | undefined): void;
}

/** A packet inside the decoder: where it is in the decoder's own time, and in the media's. */
interface Pending {
	from: Micros;
	to: Micros;
	pts: Micros;
}

/** The sound: its subscription, the order of its packets, and its decoder. */
export class AudioTrack {
	readonly rendition: Rendition;
	readonly #clock: PlayoutClock;
	readonly #events: AudioTrackEvents;
	readonly #unpacker: Unpacker;
	readonly #sequencer = new AudioSequencer();
	readonly #subscription: Subscription;
	readonly #sampleRate: number;
	readonly #streams = new Set<IncomingSubgroup>();
	#decoder: AudioDecoder | undefined;
	#config: Uint8Array | undefined;
	#pending: Pending[] = [];
	/** Decoders count their output by samples and do not see holes, so they get times without any. */
	#decoderTime: Micros = 0;
	#closed = false;
	#errors = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;

	readonly bits = new Rate();
	readonly lateness = new Samples();
	/** Capture to loudspeaker, of the packets that came in time. */
	readonly delay = new Samples();
	received = 0;
	/** That of the publisher. */
	priority = 128;

	constructor(
		session: Session,
		namespace: readonly string[],
		r: Rendition,
		clock: PlayoutClock,
		events: AudioTrackEvents,
		sampleRate: number,
	) {
		this.rendition = r;
		this.#clock = clock;
		this.#events = events;
		this.#sampleRate = sampleRate;
		this.#unpacker = newUnpacker(r);
		this.#config = r.description;
		clock.joined(r.name);
		this.#subscription = session.subscribe(
			{ namespace, name: r.name },
			{ filter: { type: "LargestObject" }, forward: true, subscriberPriority: 64, groupOrder: "ascending" },
			{
				subgroup: (s) => this.#receive(s),
				datagram: (d) => {
					this.priority = d.priority ?? this.priority;
					if (d.status === 0) this.#object(Number(d.objectId), d.properties, d.payload);
				},
			},
		);
		this.#subscription.ok.catch(() => undefined);
		void this.#subscription.done.then((reason) => {
			if (!this.#closed) events.ended(this, reason);
		});
	}

	get lost(): number {
		return this.#sequencer.late + this.#sequencer.missing;
	}

	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		clearTimeout(this.#timer);
		this.#subscription.close();
		for (const s of this.#streams) s.cancel();
		this.#closeDecoder();
		this.#clock.left(this.rendition.name);
	}

	/** The timeline has begun anew. */
	restart(): void {
		this.#sequencer.restart();
	}

	async #receive(s: IncomingSubgroup): Promise<void> {
		if (this.#closed || this.#streams.size >= MAX_STREAMS) {
			s.cancel();
			return;
		}
		this.#streams.add(s);
		this.priority = s.header.priority ?? this.priority;
		try {
			for (;;) {
				const o = await s.next();
				if (!o || this.#closed) return;
				if (o.status === 0) this.#object(Number(o.id), o.properties, o.payload);
			}
		} catch (err) {
			if (err instanceof ProtocolError) throw err;
		} finally {
			this.#streams.delete(s);
		}
	}

	#object(id: number, properties: Uint8Array, payload: Uint8Array): void {
		if (this.#closed) return;
		const now = performance.now();
		this.bits.add(8 * payload.length, now);
		this.#events.arrived();
		let frames: EncodedFrame[];
		try {
			frames = this.#unpacker.unpack({ id, properties, payload });
		} catch (err) {
			if (!(err instanceof MediaError)) throw err;
			return;
		}
		for (const f of frames) {
			this.received++;
			this.#events.packet(this, f);
			const late = this.#clock.lateness(this.rendition.name, f.pts, now + 2);
			if (late !== undefined) this.lateness.add(late);
			if (this.#clock.arrived(this.rendition.name, "audio", f.pts, now + 2)) this.#events.timeline();
			this.#sequencer.push(f, now);
		}
		this.pump(now);
	}

	/** Hands the decoder the packets that are in order. */
	pump(now: Millis): void {
		if (this.#closed) return;
		this.#sequencer.patience = Math.min(40, (this.#clock.buffer ?? 40) / 2);
		for (;;) {
			const f = this.#sequencer.next(now);
			if (!f) break;
			this.#decode(f);
		}
		clearTimeout(this.#timer);
		const deadline = this.#sequencer.deadline;
		if (deadline !== undefined) {
			this.#timer = setTimeout(() => this.pump(performance.now()), Math.max(1, deadline - now));
		}
	}

	#decode(f: EncodedFrame): void {
		if (f.config) this.#config = f.config;
		const duration = f.duration > 0 ? f.duration : 20_000;
		this.#pending.push({ from: this.#decoderTime, to: this.#decoderTime + duration, pts: f.pts });
		if (this.#pending.length > MAX_PENDING) this.#pending.shift();
		const timestamp = Math.round(this.#decoderTime);
		this.#decoderTime += duration;
		try {
			this.#decoder ??= this.#open();
			this.#decoder.decode(new EncodedAudioChunk({ type: "key", timestamp, data: f.data }));
		} catch (err) {
			this.#failed(err);
		}
	}

	#open(): AudioDecoder {
		const r = this.rendition;
		const decoder = new AudioDecoder({
			output: (data) => this.#output(decoder, data),
			error: (err) => {
				if (this.#decoder === decoder) this.#failed(err);
			},
		});
		const config: AudioDecoderConfig = {
			codec: r.codec,
			sampleRate: r.sampleRate || 48000,
			numberOfChannels: r.channels || 2,
		};
		const description = decoderDescription(r.codec, this.#config);
		if (description) config.description = description.slice();
		decoder.configure(config);
		return decoder;
	}

	#output(decoder: AudioDecoder, data: AudioData): void {
		try {
			if (this.#closed || this.#decoder !== decoder) return;
			this.#errors = 0;
			const t = data.timestamp;
			while (this.#pending[0] && this.#pending[0].to <= t + 500) this.#pending.shift();
			const p = this.#pending[0];
			if (!p) return;
			const planes: Float32Array[] = [];
			for (let c = 0; c < Math.min(2, data.numberOfChannels); c++) {
				const plane = new Float32Array(data.numberOfFrames);
				data.copyTo(plane, { planeIndex: c, format: "f32-planar" });
				planes.push(resample(plane, data.sampleRate, this.#sampleRate));
			}
			this.#events.sound(p.pts + (t - p.from), planes);
		} finally {
			data.close();
		}
	}

	#failed(err: unknown): void {
		this.#closeDecoder();
		this.#errors++;
		if (this.#errors < 5) return;
		const reason = err instanceof Error ? err.message : String(err);
		this.#events.ended(this, new PlayerError("codec", `${this.rendition.codec}: ${reason}`));
	}

	#closeDecoder(): void {
		const decoder = this.#decoder;
		this.#decoder = undefined;
		this.#pending = [];
		this.#decoderTime = 0;
		if (decoder && decoder.state !== "closed") decoder.close();
	}
}

/** Whether this browser can decode a rendition. */
export async function canDecodeAudio(r: Rendition): Promise<boolean> {
	if (typeof AudioDecoder === "undefined") return false;
	try {
		const config: AudioDecoderConfig = {
			codec: r.codec,
			sampleRate: r.sampleRate || 48000,
			numberOfChannels: r.channels || 2,
		};
		const description = decoderDescription(r.codec, r.description);
		if (description) config.description = description.slice();
		return (await AudioDecoder.isConfigSupported(config)).supported === true;
	} catch {
		return false;
	}
}
