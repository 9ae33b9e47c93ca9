import { Soundtrack } from "./play/soundtrack.ts";
import type { SoundStatus, ToSound } from "./player/messages.ts";

// The player's audio thread: puts out sound by media time, as the worker says what is to be heard when.

// What the scope of an audio worklet has; the types of a page do not know it.
declare const sampleRate: number;
declare const currentTime: number;
declare function registerProcessor(name: string, type: new () => unknown): void;
declare class AudioWorkletProcessor {
	readonly port: MessagePort;
}

/** Blocks of 128 samples between two reports, about 20 ms. */
const REPORT = 8;

class SoundProcessor extends AudioWorkletProcessor {
	#track = new Soundtrack(sampleRate);
	#worker: MessagePort | undefined;
	#want: { context: number; pts: number } | undefined;
	#blocks = 0;

	constructor() {
		super();
		this.port.onmessage = (e: MessageEvent<ToSound>) => {
			if (e.data.type !== "port") return;
			this.#worker = e.data.port;
			this.#worker.onmessage = (m: MessageEvent<ToSound>) => this.#message(m.data);
		};
	}

	#message(m: ToSound): void {
		switch (m.type) {
			case "pcm":
				this.#track.write(m.pts, m.planes);
				break;
			case "want":
				this.#want = m;
				break;
			case "restart":
				this.#track.restart();
				break;
		}
	}

	process(_: Float32Array[][], outputs: Float32Array[][]): boolean {
		const planes = outputs[0];
		if (!planes || !this.#want) return true;
		const pts = this.#track.read(planes, this.#want.pts + (currentTime - this.#want.context) * 1e6);
		if (this.#blocks++ % REPORT === 0) {
			const { ahead, missing, late, jumps } = this.#track;
			const status: SoundStatus = { context: currentTime, pts, ahead, missing, late, jumps };
			this.#worker?.postMessage(status);
		}
		return true;
	}
}

registerProcessor("moq-sound", SoundProcessor);
