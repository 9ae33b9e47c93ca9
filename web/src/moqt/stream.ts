import { Reader } from "../wire/bytes.ts";
import { Truncated, violation } from "../wire/errors.ts";

/** Largest piece that is parsed at once, a control message with its header, with some room. */
const MAX_PENDING = 1 << 18;

/** Reads items off a stream that end wherever they do. It has one user at a time. */
export class StreamReader {
	readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
	readonly #Reader: typeof Reader;
	#pending: Uint8Array = new Uint8Array(0);
	#ended = false;

	/** Integers are as Fields reads them. */
	constructor(stream: ReadableStream<Uint8Array>, Fields: typeof Reader = Reader) {
		this.#reader = stream.getReader();
		this.#Reader = Fields;
	}

	/** Reads an item; undefined at the end of the stream, if that is between two items. */
	async parse<T>(item: (r: Reader) => T): Promise<T | undefined> {
		for (;;) {
			if (this.#pending.length > 0) {
				const r = new this.#Reader(this.#pending);
				try {
					const x = item(r);
					this.#pending = this.#pending.subarray(r.at);
					return x;
				} catch (err) {
					if (!(err instanceof Truncated)) throw err;
				}
			}
			if (this.#pending.length > MAX_PENDING) throw violation("an item on a stream is too long");
			if (!(await this.#more())) {
				if (this.#pending.length > 0) throw violation("a stream ends within an item");
				return undefined;
			}
		}
	}

	/** Reads n bytes, which are the caller's own. */
	async bytes(n: number): Promise<Uint8Array<ArrayBuffer>> {
		const b = new Uint8Array(n);
		let at = 0;
		while (at < n) {
			if (this.#pending.length === 0 && !(await this.#more())) throw violation("a stream ends within an object");
			const part = this.#pending.subarray(0, n - at);
			b.set(part, at);
			at += part.length;
			this.#pending = this.#pending.subarray(part.length);
		}
		return b;
	}

	/** Reads all there is and throws it away. */
	async drain(): Promise<void> {
		this.#pending = new Uint8Array(0);
		while (await this.#more()) this.#pending = new Uint8Array(0);
	}

	/** Tells the peer to send no more; whoever reads gets the end of the stream. */
	cancel(reason: Error): void {
		this.#reader.cancel(reason).catch(() => undefined);
	}

	async #more(): Promise<boolean> {
		if (this.#ended) return false;
		const { value, done } = await this.#reader.read();
		if (done) {
			this.#ended = true;
			return false;
		}
		if (this.#pending.length === 0) {
			this.#pending = value;
			return true;
		}
		const b = new Uint8Array(this.#pending.length + value.length);
		b.set(this.#pending);
		b.set(value, this.#pending.length);
		this.#pending = b;
		return true;
	}
}
