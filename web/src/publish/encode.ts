import type { CapturedSound } from "../capture-worklet.ts";
import { OutgoingTrack } from "../moqt/publisher.ts";
import { encodeProperties, type Property } from "../wire/kvp.ts";
import { LOC } from "../wire/loc.ts";

/** Priorities; lower is more urgent. Sound goes first, then the small picture, then the better one. */
export const PRIORITY = { catalog: 0, audio: 2, video: 4, better: 6 } as const;

/** Frames inside an encoder; with more of them a picture is left out. */
const MAX_QUEUE = 3;

export interface VideoSettings {
	name: string;
	codec: string;
	width: number;
	height: number;
	framerate: number;
	bitrate: number;
	priority: number;
}

/** One rendition: its encoder and its track. */
export class VideoRendition {
	readonly track: OutgoingTrack;
	readonly settings: VideoSettings;
	/** The decoder configuration, once the encoder has told it. */
	config: Uint8Array | undefined;
	/** The codec as the encoder tells it. */
	codec: string;
	frames = 0;
	skipped = 0;
	bits = 0;
	readonly #encoder: VideoEncoder;
	readonly #onConfig: () => void;
	readonly #canvas: OffscreenCanvas | undefined;
	#groups = new Map<number, number>(); // of key frames, by timestamp
	#group = 0;
	#object = 0;

	constructor(
		s: VideoSettings,
		source: { width: number; height: number },
		onConfig: () => void,
		onError: (err: Error) => void,
	) {
		this.settings = s;
		this.codec = s.codec;
		this.track = new OutgoingTrack(s.name, s.priority);
		this.#onConfig = onConfig;
		if (s.width !== source.width || s.height !== source.height) this.#canvas = new OffscreenCanvas(s.width, s.height);
		this.#encoder = new VideoEncoder({ output: (chunk, m) => this.#output(chunk, m), error: onError });
		this.#encoder.configure(encoderConfig(s));
	}

	/** Encodes a picture. group is set for the first picture of a group. */
	encode(frame: VideoFrame, group: number | undefined): void {
		// A key frame is never left out, since whole groups depend on it.
		if (group === undefined && this.#encoder.encodeQueueSize > MAX_QUEUE) {
			this.skipped++;
			return;
		}
		if (group !== undefined) this.#groups.set(frame.timestamp, group);
		const scaled = this.#scale(frame);
		this.#encoder.encode(scaled, { keyFrame: group !== undefined });
		if (scaled !== frame) scaled.close();
	}

	#scale(frame: VideoFrame): VideoFrame {
		const canvas = this.#canvas;
		if (!canvas) return frame;
		canvas.getContext("2d", { alpha: false })?.drawImage(frame, 0, 0, canvas.width, canvas.height);
		return new VideoFrame(canvas, { timestamp: frame.timestamp });
	}

	#output(chunk: EncodedVideoChunk, m: EncodedVideoChunkMetadata | undefined): void {
		const d = m?.decoderConfig;
		if (d) {
			this.codec = d.codec;
			if (d.description) this.config = toBytes(d.description);
			this.#onConfig();
		}
		const group = this.#groups.get(chunk.timestamp);
		if (group !== undefined) {
			this.#groups.delete(chunk.timestamp);
			this.#group = group;
			this.#object = 0;
		} else if (this.#group === 0) {
			return;
		} else {
			this.#object++;
		}
		const payload = new Uint8Array(chunk.byteLength);
		chunk.copyTo(payload);
		const properties: Property[] = [];
		if (this.#object === 0 && this.config) properties.push({ type: LOC.VIDEO_CONFIG, bytes: this.config });
		properties.push({ type: LOC.TIMESTAMP, uint: chunk.timestamp });
		this.frames++;
		this.bits += 8 * payload.length;
		this.track.write({ group: this.#group, id: this.#object, properties: encodeProperties(properties), payload });
	}

	close(): void {
		if (this.#encoder.state !== "closed") this.#encoder.close();
	}
}

export function encoderConfig(s: VideoSettings): VideoEncoderConfig {
	const config: VideoEncoderConfig = {
		codec: s.codec,
		width: s.width,
		height: s.height,
		framerate: s.framerate,
		bitrate: s.bitrate,
		latencyMode: "realtime",
	};
	if (s.codec.startsWith("avc1")) config.avc = { format: "avc" };
	return config;
}

/** The first of the codecs that the browser can encode in this size. */
export async function chooseCodec(codecs: string[], s: Omit<VideoSettings, "codec">): Promise<string | undefined> {
	for (const codec of codecs) {
		try {
			if ((await VideoEncoder.isConfigSupported(encoderConfig({ ...s, codec }))).supported) return codec;
		} catch {
			// Not even known.
		}
	}
	return undefined;
}

function toBytes(b: AllowSharedBufferSource): Uint8Array {
	return ArrayBuffer.isView(b)
		? new Uint8Array(b.buffer, b.byteOffset, b.byteLength).slice()
		: new Uint8Array(b as ArrayBuffer).slice();
}

/** Sound that is off from the wall clock by more than this, in microseconds, for so many packets, is set anew. */
const MAX_DRIFT = 60_000;
const DRIFT_PACKETS = 50;
/** Sound that is off by more is set anew at once: the audio thread has not got the time it needs. */
const JUMP = 250_000;
/** Packets from which the beginning is reckoned; what comes from the audio thread comes late, never early. */
const FIRST_PACKETS = 10;
const SAMPLE_RATE = 48000;

/** The sound: one encoder for two tracks, one in datagrams and one on streams. */
export class AudioRendition {
	readonly datagrams = new OutgoingTrack("audio", PRIORITY.audio, true);
	readonly streams = new OutgoingTrack("audio-stream", PRIORITY.audio);
	readonly bitrate: number;
	bits = 0;
	packets = 0;
	readonly #encoder: AudioEncoder;
	readonly #context = new AudioContext({ sampleRate: SAMPLE_RATE });
	#group: number;
	#offset = Number.POSITIVE_INFINITY; // wall clock minus the context's, in microseconds
	#heard = 0;
	#off = 0;

	constructor(bitrate: number, firstGroup: number, onError: (err: Error) => void) {
		this.bitrate = bitrate;
		this.#group = firstGroup;
		this.#encoder = new AudioEncoder({ output: (chunk) => this.#output(chunk), error: onError });
		this.#encoder.configure({ codec: "opus", sampleRate: SAMPLE_RATE, numberOfChannels: 2, bitrate });
	}

	async start(track: MediaStreamTrack, worklet: URL): Promise<void> {
		await this.#context.audioWorklet.addModule(worklet.href);
		const source = this.#context.createMediaStreamSource(new MediaStream([track]));
		const node = new AudioWorkletNode(this.#context, "moq-capture", { numberOfOutputs: 0, channelCount: 2 });
		node.port.onmessage = (e: MessageEvent<CapturedSound>) => this.#captured(e.data);
		source.connect(node);
		await this.#context.resume();
	}

	#captured({ context, samples }: CapturedSound): void {
		if (this.#encoder.state !== "configured") return;
		const frames = samples.length / 2;
		const wall = (performance.timeOrigin + performance.now()) * 1000 - (frames * 1e6) / SAMPLE_RATE;
		const offset = wall - context * 1e6;
		if (this.#heard++ < FIRST_PACKETS) {
			this.#offset = Math.min(this.#offset, offset);
			return;
		}
		this.#off = Math.abs(offset - this.#offset) > MAX_DRIFT ? this.#off + 1 : 0;
		if (this.#off > DRIFT_PACKETS || Math.abs(offset - this.#offset) > JUMP) this.#offset = offset;
		const timestamp = Math.round(context * 1e6 + this.#offset);
		const data = new AudioData({
			format: "f32-planar",
			sampleRate: SAMPLE_RATE,
			numberOfFrames: frames,
			numberOfChannels: 2,
			timestamp,
			data: samples,
		});
		this.#encoder.encode(data);
		data.close();
	}

	#output(chunk: EncodedAudioChunk): void {
		const payload = new Uint8Array(chunk.byteLength);
		chunk.copyTo(payload);
		this.packets++;
		this.bits += 8 * payload.length;
		const properties = encodeProperties([{ type: LOC.TIMESTAMP, uint: Math.max(0, Math.round(chunk.timestamp)) }]);
		const o = { group: this.#group++, id: 0, properties, payload };
		this.datagrams.write(o);
		this.streams.write(o);
	}

	close(): void {
		if (this.#encoder.state !== "closed") this.#encoder.close();
		void this.#context.close().catch(() => undefined);
	}
}
