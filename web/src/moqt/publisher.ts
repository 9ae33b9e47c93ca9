import { Writer } from "../wire/bytes.ts";
import { DoneCode, RequestCode, StreamCode } from "../wire/codes.ts";
import { encodeDatagram } from "../wire/datagram.ts";
import { type FullTrackName, formatNamespace, type Namespace, sameNamespace } from "../wire/namespace.ts";
import { SubgroupCursor } from "../wire/object.ts";
import { writeSubgroupHeader } from "../wire/subgroup.ts";
import type { IncomingRequest, Session } from "./session.ts";
import { streamError } from "./transport.ts";

/** An object to be published. Within a group ids are 0, 1, 2 and so on; an object 0 begins a new group. */
export interface OutgoingObject {
	group: number;
	id: number;
	properties: Uint8Array;
	payload: Uint8Array;
}

/** How long a group may still be sent after the next one has begun, in milliseconds. */
const MAX_LAG = 1000;

/** A track to publish. Whoever subscribes gets it from the beginning of the current group. */
export class OutgoingTrack {
	readonly name: string;
	readonly priority: number;
	readonly datagrams: boolean;
	#group: OutgoingObject[] = [];
	#subscribers = new Set<Subscriber>();
	/** Groups that were cut off because they were too late. */
	cut = 0;
	bytes = 0;

	constructor(name: string, priority: number, datagrams = false) {
		this.name = name;
		this.priority = priority;
		this.datagrams = datagrams;
	}

	get subscribers(): number {
		return this.#subscribers.size;
	}

	get largest(): { group: number; object: number } | undefined {
		const last = this.#group.at(-1);
		return last && { group: last.group, object: last.id };
	}

	write(o: OutgoingObject): void {
		if (o.id === 0) this.#group = [];
		this.#group.push(o);
		this.bytes += o.payload.length * this.#subscribers.size;
		for (const s of this.#subscribers) s.write(o);
	}

	/** Serves a subscription until it ends. */
	attach(session: Session, alias: number, forward: boolean): Subscriber {
		const s = new Subscriber(session, alias, this, () => {
			this.cut++;
		});
		this.#subscribers.add(s);
		this.forward(s, forward);
		return s;
	}

	/** Lets a subscriber have the objects, or not. [MOQT-18] Section 10.2.12, FORWARD Parameter */
	forward(s: Subscriber, forward: boolean): void {
		if (s.forward === forward) return;
		s.forward = forward;
		// Datagrams are not for later; of a group on a stream the beginning is needed.
		if (forward && !this.datagrams) for (const o of this.#group) s.write(o);
	}

	detach(s: Subscriber): void {
		this.#subscribers.delete(s);
		s.close();
	}
}

interface OpenGroup {
	id: number;
	cursor: SubgroupCursor;
	writer: Promise<WritableStreamDefaultWriter<BufferSource> | undefined>;
	/** What is written, in order. */
	tail: Promise<void>;
	ended: boolean;
}

/** One subscription that is being served. */
export class Subscriber {
	readonly #session: Session;
	readonly #alias: number;
	readonly #track: OutgoingTrack;
	readonly #onCut: () => void;
	#open: OpenGroup | undefined;
	#datagrams: WritableStreamDefaultWriter<BufferSource> | undefined;
	streams = 0;
	/** Set by OutgoingTrack.forward. */
	forward = false;
	#last = -1;

	constructor(session: Session, alias: number, track: OutgoingTrack, onCut: () => void) {
		this.#session = session;
		this.#alias = alias;
		this.#track = track;
		this.#onCut = onCut;
	}

	write(o: OutgoingObject): void {
		if (!this.forward) {
			this.#end();
			return;
		}
		if (this.#track.datagrams) {
			this.#writeDatagram(o);
			return;
		}
		if (this.#open?.id !== o.group) {
			// It has joined in the middle; or it has paused, and the group was ended for it.
			if (o.id !== 0 || o.group <= this.#last) return;
			this.#end();
			this.#last = o.group;
			this.#open = this.#begin(o.group);
		}
		const g = this.#open;
		if (!g) return;
		const w = new Writer();
		g.cursor.write(w, { id: o.id, properties: o.properties, payloadLength: o.payload.length, status: 0 });
		w.raw(o.payload);
		const bytes = w.take();
		g.tail = g.tail.then(async () => {
			await (await g.writer)?.write(bytes);
		});
		g.tail.catch(() => undefined); // the group was cancelled, or the session is over
	}

	#begin(group: number): OpenGroup {
		this.streams++;
		const w = new Writer();
		writeSubgroupHeader(w, {
			trackAlias: this.#alias,
			groupId: group,
			idMode: "zero",
			priority: this.#track.priority,
			hasProperties: true,
			endOfGroup: false,
			firstObject: true,
		});
		const header = w.take();
		const writer = this.#session.transport
			.createUnidirectionalStream({ sendOrder: -this.#track.priority })
			.then((s) => s.getWriter())
			.catch(() => undefined);
		const g: OpenGroup = { id: group, cursor: new SubgroupCursor(true), writer, tail: Promise.resolve(), ended: false };
		g.tail = writer.then(async (out) => {
			await out?.write(header);
		});
		g.tail.catch(() => undefined);
		return g;
	}

	/** Ends the current group, and cuts it off if the network does not take it in time. */
	#end(): void {
		const g = this.#open;
		this.#open = undefined;
		if (!g || g.ended) return;
		g.ended = true;
		const timer = setTimeout(() => {
			this.#onCut();
			void g.writer.then((out) =>
				out?.abort(streamError(StreamCode.DELIVERY_TIMEOUT, "too late")).catch(() => undefined),
			);
		}, MAX_LAG);
		g.tail
			.then(async () => {
				await (await g.writer)?.close();
			})
			.catch(() => undefined)
			.finally(() => clearTimeout(timer));
	}

	#writeDatagram(o: OutgoingObject): void {
		const { datagrams } = this.#session.transport;
		this.#datagrams ??= (datagrams.writable ?? datagrams.createWritable?.())?.getWriter();
		const b = encodeDatagram({
			trackAlias: this.#alias,
			groupId: o.group,
			objectId: o.id,
			priority: this.#track.priority,
			endOfGroup: true,
			properties: o.properties,
			status: 0,
			payload: o.payload,
		});
		if (b.length > datagrams.maxDatagramSize) return;
		this.#datagrams?.write(b).catch(() => undefined);
	}

	close(): void {
		this.#end();
		this.#datagrams?.releaseLock();
		this.#datagrams = undefined;
	}
}

/** Tracks under one namespace, offered on one session at a time. */
export class Broadcast {
	readonly namespace: Namespace;
	readonly tracks = new Map<string, OutgoingTrack>();
	/** Called when somebody begins to receive a track. */
	onSubscribe: (track: OutgoingTrack) => void = () => undefined;
	#alias = 0;

	constructor(namespace: Namespace) {
		this.namespace = namespace;
	}

	add(track: OutgoingTrack): OutgoingTrack {
		this.tracks.set(track.name, track);
		return track;
	}

	/** Answers a request of the relay. Give it to Session as onRequest. */
	serve(session: () => Session | undefined, r: IncomingRequest): void {
		const refuse = (code: number, reason: string) => {
			r.reply({ type: "REQUEST_ERROR", code, reason });
			r.close();
		};
		const m = r.message;
		if (m.type !== "SUBSCRIBE") return refuse(RequestCode.NOT_SUPPORTED, `${m.type} is not handled`);
		const track = this.#find(m.track);
		const s = session();
		if (!track || !s) {
			return refuse(RequestCode.DOES_NOT_EXIST, `no track ${m.track.name} in ${formatNamespace(m.track.namespace)}`);
		}
		const alias = this.#alias++;
		r.reply({
			type: "SUBSCRIBE_OK",
			trackAlias: alias,
			params: track.largest ? { largestObject: track.largest } : {},
			properties: [],
		});
		const subscriber = track.attach(s, alias, m.params.forward ?? true);
		r.onUpdate = (p) => {
			if (p.forward !== undefined) track.forward(subscriber, p.forward);
		};
		this.onSubscribe(track);
		void r.ended.then(() => {
			track.detach(subscriber);
			r.close();
		});
		this.#done.push(() => {
			r.reply({
				type: "PUBLISH_DONE",
				status: DoneCode.TRACK_ENDED,
				streamCount: subscriber.streams,
				reason: "the publisher has stopped",
			});
			track.detach(subscriber);
			r.close();
		});
	}

	/** Tells all subscribers that the tracks have ended. */
	end(): void {
		for (const done of this.#done.splice(0)) done();
	}

	/** A new session has none of the subscriptions of the old one. */
	reset(): void {
		this.#done.length = 0;
	}

	#done: (() => void)[] = [];

	#find(t: FullTrackName): OutgoingTrack | undefined {
		return sameNamespace(t.namespace, this.namespace) ? this.tracks.get(t.name) : undefined;
	}
}
