import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import { onTestFinished } from "vitest";

/** How much waits in the queue before packets are dropped, in milliseconds of the rate. */
const QUEUE = 150;

/**
 * A link between one client and a server on this machine, whose rate towards the client can be changed while it runs.
 * It ends with the test.
 */
export class Link {
	readonly port: number;
	/** Bits per second; infinite at first. */
	rate = Number.POSITIVE_INFINITY;
	dropped = 0;
	readonly #front: Socket;
	#client: RemoteInfo | undefined;
	/** When the last packet of the queue will have left. */
	#busy = 0;

	static async open(server: number): Promise<Link> {
		const [front, back] = [createSocket("udp4"), createSocket("udp4")];
		front.bind(0, "127.0.0.1");
		back.bind(0, "127.0.0.1");
		await Promise.all([once(front, "listening"), once(back, "listening")]);
		return new Link(front, back, server);
	}

	private constructor(front: Socket, back: Socket, server: number) {
		this.#front = front;
		this.port = front.address().port;
		front.on("message", (packet, from) => {
			this.#client = from;
			back.send(packet, server, "127.0.0.1");
		});
		back.on("message", (packet) => this.#down(packet));
		onTestFinished(() => {
			front.close();
			back.close();
		});
	}

	#down(packet: Buffer): void {
		const client = this.#client;
		if (!client) return;
		const send = () => this.#front.send(packet, client.port, client.address, () => undefined);
		if (!Number.isFinite(this.rate)) {
			send();
			return;
		}
		const now = performance.now();
		this.#busy = Math.max(this.#busy, now);
		if (this.#busy - now > QUEUE) {
			this.dropped++;
			return;
		}
		this.#busy += (8 * packet.length * 1000) / this.rate;
		setTimeout(send, this.#busy - now);
	}
}
