// The publisher's audio thread: collects sound into packets of 20 ms and hands them to the page.

declare const sampleRate: number;
declare const currentTime: number;
declare function registerProcessor(name: string, type: new () => unknown): void;
declare class AudioWorkletProcessor {
	readonly port: MessagePort;
}

export interface CapturedSound {
	/** The context's time of the first sample, in seconds. */
	context: number;
	/** Two planes, one behind the other. */
	samples: Float32Array<ArrayBuffer>;
}

const CHANNELS = 2;

class CaptureProcessor extends AudioWorkletProcessor {
	readonly #frames = Math.round(sampleRate / 50);
	#samples = new Float32Array(CHANNELS * this.#frames);
	#filled = 0;
	#began = 0;

	process(inputs: Float32Array[][]): boolean {
		const planes = inputs[0] ?? [];
		const n = planes[0]?.length ?? 128;
		for (let i = 0; i < n; i++) {
			if (this.#filled === 0) this.#began = currentTime + i / sampleRate;
			for (let c = 0; c < CHANNELS; c++) {
				this.#samples[c * this.#frames + this.#filled] = (planes[c] ?? planes[0])?.[i] ?? 0;
			}
			if (++this.#filled < this.#frames) continue;
			const m: CapturedSound = { context: this.#began, samples: this.#samples };
			this.port.postMessage(m, [this.#samples.buffer]);
			this.#samples = new Float32Array(CHANNELS * this.#frames);
			this.#filled = 0;
		}
		return true;
	}
}

registerProcessor("moq-capture", CaptureProcessor);
