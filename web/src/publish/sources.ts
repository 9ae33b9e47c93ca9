import { Pattern } from "./pattern.ts";

export type SourceKind = "camera" | "screen" | "pattern";

/** Where pictures and sound come from. */
export interface MediaInput {
	width: number;
	height: number;
	/** For the preview. */
	preview: HTMLElement;
	/** Absent if there is no sound. */
	audio: MediaStreamTrack | undefined;
	/** Hands out pictures, with the time of their capture in milliseconds since 1970; the receiver closes them. */
	start(frame: (f: VideoFrame, time: number) => void): void;
	stop(): void;
	/** Called if the source ends by itself, as when the user stops sharing a screen. */
	onended: () => void;
}

export async function openInput(kind: SourceKind, height: number, framerate: number): Promise<MediaInput> {
	const width = Math.round((height * 16) / 9 / 2) * 2;
	if (kind === "pattern") return new PatternInput(width, height, framerate);
	const video = { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: framerate } };
	const stream =
		kind === "camera"
			? await navigator.mediaDevices.getUserMedia({ video, audio: { echoCancellation: true } })
			: await navigator.mediaDevices.getDisplayMedia({ video, audio: true });
	return StreamInput.open(stream);
}

/** A test picture, and a quiet tone with a beep each second. */
class PatternInput implements MediaInput {
	readonly width: number;
	readonly height: number;
	readonly audio: MediaStreamTrack | undefined;
	onended: () => void = () => undefined;
	readonly #pattern: Pattern;
	readonly #framerate: number;
	readonly #context: AudioContext;
	#beeps: ReturnType<typeof setInterval> | undefined;

	constructor(width: number, height: number, framerate: number) {
		this.width = width;
		this.height = height;
		this.#framerate = framerate;
		this.#pattern = new Pattern(width, height);
		this.#pattern.draw(Date.now());
		this.#context = new AudioContext({ sampleRate: 48000 });
		const out = this.#context.createMediaStreamDestination();
		const tone = this.#context.createOscillator();
		const level = this.#context.createGain();
		tone.frequency.value = 440;
		level.gain.value = 0.03;
		tone.connect(level).connect(out);
		tone.start();
		this.#beeps = setInterval(() => {
			const now = this.#context.currentTime;
			level.gain.setValueAtTime(0.3, now);
			level.gain.setTargetAtTime(0.03, now + 0.08, 0.03);
		}, 1000);
		this.audio = out.stream.getAudioTracks()[0];
		void this.#context.resume().catch(() => undefined);
	}

	get preview(): HTMLElement {
		return this.#pattern.canvas;
	}

	start(frame: (f: VideoFrame, time: number) => void): void {
		this.#pattern.start(this.#framerate, (time) => {
			frame(new VideoFrame(this.#pattern.canvas, { timestamp: Math.round(time * 1000) }), time);
		});
	}

	stop(): void {
		clearInterval(this.#beeps);
		this.#pattern.stop();
		void this.#context.close().catch(() => undefined);
	}
}

/** The pictures of a track as they come, where the browser has that for pages (Chromium). */
declare class MediaStreamTrackProcessor {
	constructor(init: { track: MediaStreamTrack; maxBufferSize?: number });
	readonly readable: ReadableStream<VideoFrame>;
}

/** A camera or a screen. */
class StreamInput implements MediaInput {
	width = 0;
	height = 0;
	readonly audio: MediaStreamTrack | undefined;
	readonly preview = document.createElement("video");
	onended: () => void = () => undefined;
	readonly #stream: MediaStream;
	#stopped = false;

	static async open(stream: MediaStream): Promise<StreamInput> {
		const s = new StreamInput(stream);
		await s.preview.play();
		s.width = s.preview.videoWidth;
		s.height = s.preview.videoHeight;
		return s;
	}

	private constructor(stream: MediaStream) {
		this.#stream = stream;
		this.audio = stream.getAudioTracks()[0];
		this.preview.muted = true;
		this.preview.playsInline = true;
		this.preview.srcObject = stream;
		stream.getVideoTracks()[0]?.addEventListener("ended", () => this.onended());
	}

	start(frame: (f: VideoFrame, time: number) => void): void {
		const track = this.#stream.getVideoTracks()[0];
		if (!track) return;
		if (typeof MediaStreamTrackProcessor !== "undefined") {
			void this.#process(new MediaStreamTrackProcessor({ track, maxBufferSize: 2 }).readable, frame);
			return;
		}
		const next = (_: number, m: VideoFrameCallbackMetadata) => {
			if (this.#stopped) return;
			const time = performance.timeOrigin + (m.captureTime ?? m.presentationTime);
			frame(new VideoFrame(this.preview, { timestamp: Math.round(time * 1000) }), time);
			this.preview.requestVideoFrameCallback(next);
		};
		this.preview.requestVideoFrameCallback(next);
	}

	async #process(frames: ReadableStream<VideoFrame>, frame: (f: VideoFrame, time: number) => void): Promise<void> {
		const reader = frames.getReader();
		for (;;) {
			const { value, done } = await reader.read();
			if (done || !value) return;
			if (this.#stopped) {
				value.close();
				await reader.cancel();
				return;
			}
			frame(value, performance.timeOrigin + performance.now());
		}
	}

	stop(): void {
		this.#stopped = true;
		for (const t of this.#stream.getTracks()) t.stop();
	}
}
