import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Writer } from "../wire/bytes.ts";
import { DoneCode, RequestCode, SessionCode, StreamCode } from "../wire/codes.ts";
import { type Datagram, encodeDatagram } from "../wire/datagram.ts";
import { encodeMessage, type Message, type Publish, readMessage, type Subscribe } from "../wire/message.ts";
import { NO_PROPERTIES, SubgroupCursor } from "../wire/object.ts";
import { readSubgroupHeader, writeSubgroupHeader } from "../wire/subgroup.ts";
import { RequestFailed, TrackDone } from "./errors.ts";
import { type MockTransport, mockPair } from "./mock.ts";
import { Session } from "./session.ts";
import { StreamReader } from "./stream.ts";
import type { IncomingSubgroup } from "./subscription.ts";
import { streamErrorCode } from "./transport.ts";

const TRACK = { namespace: ["live", "clip"], name: "video" };

/** A relay that does what the test says. */
class Relay {
	readonly transport: MockTransport;
	#requests: ReadableStreamDefaultReader<{ readable: ReadableStream; writable: WritableStream }>;
	control!: WritableStreamDefaultWriter;
	/** The client's unidirectional streams. */
	streams!: ReadableStreamDefaultReader<ReadableStream<Uint8Array>>;

	constructor(transport: MockTransport) {
		this.transport = transport;
		this.#requests = transport.incomingBidirectionalStreams.getReader();
	}

	/** Takes the client's SETUP and sends its own. */
	async setup(): Promise<void> {
		this.streams = this.transport.incomingUnidirectionalStreams.getReader();
		const { value } = await this.streams.read();
		const first = await new StreamReader(value as ReadableStream<Uint8Array>).parse(readMessage);
		expect(first?.type).toBe("SETUP");
		this.control = (await this.transport.createUnidirectionalStream()).getWriter();
		await this.control.write(encodeMessage({ type: "SETUP" }));
	}

	/** Takes the next request. */
	async request(want: Message["type"]): Promise<{ message: Message; reader: StreamReader; send(m: Message): void }> {
		const { value } = await this.#requests.read();
		if (!value) throw new Error("no more requests");
		const reader = new StreamReader(value.readable);
		const message = await reader.parse(readMessage);
		expect(message?.type).toBe(want);
		const writer = value.writable.getWriter();
		return {
			message: message as Message,
			reader,
			send: (m) => void writer.write(encodeMessage(m)).catch(() => undefined),
		};
	}

	/** Opens a subgroup stream with these payloads. */
	async subgroup(alias: number, group: number, payloads: string[], end: "fin" | "reset" | "open" = "fin") {
		const stream = (await this.transport.createUnidirectionalStream()).getWriter();
		const w = new Writer();
		writeSubgroupHeader(w, {
			trackAlias: alias,
			groupId: group,
			idMode: "zero",
			hasProperties: false,
			endOfGroup: false,
			firstObject: true,
		});
		const cursor = new SubgroupCursor(false);
		payloads.forEach((p, id) => {
			const payload = new TextEncoder().encode(p);
			cursor.write(w, { id, properties: NO_PROPERTIES, payloadLength: payload.length, status: 0 });
			w.raw(payload);
		});
		// In pieces, so that nothing depends on where a read ends.
		for (const byte of w.take()) await stream.write(Uint8Array.of(byte));
		if (end === "fin") await stream.close();
		if (end === "reset") await stream.abort(new Error("reset"));
		return stream;
	}
}

let relay: Relay;
let session: Session;

beforeEach(async () => {
	vi.useFakeTimers();
	const { client, server } = mockPair();
	relay = new Relay(server);
	const opened = Session.open(client);
	await relay.setup();
	session = await opened;
});

afterEach(() => {
	session.close();
	vi.useRealTimers();
});

function collector() {
	const subgroups: IncomingSubgroup[] = [];
	const datagrams: Datagram[] = [];
	return {
		subgroups,
		datagrams,
		handler: {
			subgroup: (s: IncomingSubgroup) => void subgroups.push(s),
			datagram: (d: Datagram) => void datagrams.push(d),
		},
	};
}

const text = (b: Uint8Array | undefined) => (b ? new TextDecoder().decode(b) : undefined);
const settle = () => vi.advanceTimersByTimeAsync(0);

test("a subscription gets its objects", async () => {
	const c = collector();
	const sub = session.subscribe(TRACK, { filter: { type: "LargestObject" } }, c.handler);
	const r = await relay.request("SUBSCRIBE");
	expect(r.message).toMatchObject({ requestId: 0, track: TRACK, params: { filter: { type: "LargestObject" } } });
	r.send({ type: "SUBSCRIBE_OK", trackAlias: 7, params: {}, properties: [] });
	expect((await sub.ok).trackAlias).toBe(7);

	await relay.subgroup(7, 3, ["one", "two"]);
	await settle();
	const s = c.subgroups[0] as IncomingSubgroup;
	expect(s.header.groupId).toBe(3);
	expect(text((await s.next())?.payload)).toBe("one");
	expect(await s.next()).toMatchObject({ id: 1 });
	expect(await s.next()).toBeUndefined();
});

test("objects may come before SUBSCRIBE_OK", async () => {
	const c = collector();
	const sub = session.subscribe(TRACK, {}, c.handler);
	const r = await relay.request("SUBSCRIBE");
	await relay.subgroup(1, 0, ["early"]);
	const d = { trackAlias: 1, groupId: 0, objectId: 0, endOfGroup: true, properties: NO_PROPERTIES, status: 0 };
	const w = relay.transport.datagrams.writable?.getWriter();
	await w?.write(encodeDatagram({ ...d, payload: Uint8Array.of(1) }));
	await settle();
	expect(c.subgroups).toHaveLength(0);
	r.send({ type: "SUBSCRIBE_OK", trackAlias: 1, params: {}, properties: [] });
	await sub.ok;
	expect(c.subgroups).toHaveLength(1);
	expect(c.datagrams).toHaveLength(1);
	expect(text((await c.subgroups[0]?.next())?.payload)).toBe("early");
});

test("a stream of no subscription is cancelled after a while", async () => {
	await relay.subgroup(9, 0, ["x"], "open");
	let code: number | undefined;
	// The first unidirectional stream was the control stream.
	void relay.transport.cancelled[1]?.then((reason) => {
		code = streamErrorCode(reason);
	});
	await settle();
	expect(code).toBeUndefined();
	await vi.advanceTimersByTimeAsync(1000);
	expect(code).toBe(StreamCode.CANCELLED);
});

test("cancelling a subgroup stops its sender, and the next ones come", async () => {
	const c = collector();
	session.subscribe(TRACK, {}, c.handler);
	const r = await relay.request("SUBSCRIBE");
	r.send({ type: "SUBSCRIBE_OK", trackAlias: 1, params: {}, properties: [] });
	await settle();
	const stream = await relay.subgroup(1, 0, ["a"], "open");
	await settle();
	const s = c.subgroups[0] as IncomingSubgroup;
	await s.next();
	const pending = s.next();
	s.cancel();
	expect(await pending).toBeUndefined();
	expect(streamErrorCode(await relay.transport.cancelled[1])).toBe(StreamCode.CANCELLED);
	await expect(stream.write(Uint8Array.of(0))).rejects.toThrow();
	await relay.subgroup(1, 1, ["b"]);
	await settle();
	expect(text((await c.subgroups[1]?.next())?.payload)).toBe("b");
});

test("cancelling in the middle of an object is no fault of the peer", async () => {
	const c = collector();
	session.subscribe(TRACK, {}, c.handler);
	const r = await relay.request("SUBSCRIBE");
	r.send({ type: "SUBSCRIBE_OK", trackAlias: 1, params: {}, properties: [] });
	const stream = await relay.subgroup(1, 0, ["a"], "open");
	await stream.write(Uint8Array.of(0, 100, 1, 2, 3)); // an object of 100 bytes begins
	await settle();
	const s = c.subgroups[0] as IncomingSubgroup;
	await s.next();
	const pending = s.next();
	await settle();
	s.cancel();
	expect(await pending).toBeUndefined();
});

test("a reset stream throws in next only", async () => {
	const c = collector();
	session.subscribe(TRACK, {}, c.handler);
	const r = await relay.request("SUBSCRIBE");
	r.send({ type: "SUBSCRIBE_OK", trackAlias: 1, params: {}, properties: [] });
	const stream = await relay.subgroup(1, 0, ["a"], "open");
	await settle();
	await c.subgroups[0]?.next();
	await stream.abort(new Error("reset"));
	await expect(c.subgroups[0]?.next()).rejects.toThrow("reset");
	let closed = false;
	void session.closed.then(() => {
		closed = true;
	});
	await settle();
	expect(closed).toBe(false);
});

test("a refusal carries the relay's words", async () => {
	const sub = session.subscribe(TRACK, {}, collector().handler);
	const r = await relay.request("SUBSCRIBE");
	r.send({ type: "REQUEST_ERROR", code: RequestCode.DOES_NOT_EXIST, retry: 500, reason: "no such track" });
	const err = await sub.ok.catch((e) => e);
	expect(err).toBeInstanceOf(RequestFailed);
	expect(err).toMatchObject({ code: RequestCode.DOES_NOT_EXIST, retry: 500, message: "no such track" });
	expect(await sub.done).toBe(err);
});

test("PUBLISH_DONE ends a subscription", async () => {
	const sub = session.subscribe(TRACK, {}, collector().handler);
	const r = await relay.request("SUBSCRIBE");
	r.send({ type: "SUBSCRIBE_OK", trackAlias: 1, params: {}, properties: [] });
	await sub.ok;
	r.send({ type: "PUBLISH_DONE", status: DoneCode.TRACK_ENDED, streamCount: 1, reason: "bye" });
	const err = await sub.done;
	expect(err).toBeInstanceOf(TrackDone);
	expect(err).toMatchObject({ code: DoneCode.TRACK_ENDED, message: "bye" });
});

test("closing a subscription resets its stream", async () => {
	const sub = session.subscribe(TRACK, {}, collector().handler);
	const r = await relay.request("SUBSCRIBE");
	r.send({ type: "SUBSCRIBE_OK", trackAlias: 1, params: {}, properties: [] });
	await sub.ok;
	sub.close();
	const err = await r.reader.parse(readMessage).catch((e) => e);
	expect(streamErrorCode(err)).toBe(StreamCode.CANCELLED);
	expect(await sub.done).toBeUndefined();
});

test("an update is answered on the request's stream", async () => {
	const sub = session.subscribe(TRACK, {}, collector().handler);
	const r = await relay.request("SUBSCRIBE");
	r.send({ type: "SUBSCRIBE_OK", trackAlias: 1, params: {}, properties: [] });
	const updated = sub.update({ forward: false });
	const m = (await r.reader.parse(readMessage)) as Message;
	expect(m).toMatchObject({ type: "REQUEST_UPDATE", requestId: 2, params: { forward: false } });
	r.send({ type: "REQUEST_OK", params: {}, properties: [] });
	await updated;
	const refused = sub.update({ forward: true }).catch((e) => e);
	await r.reader.parse(readMessage);
	r.send({ type: "REQUEST_ERROR", code: RequestCode.NOT_SUPPORTED, reason: "no" });
	expect(await refused).toBeInstanceOf(RequestFailed);
});

test("namespaces come and go", async () => {
	const seen: string[] = [];
	session.subscribeNamespace(["live"], {
		added: (s) => void seen.push(`+${s.join("/")}`),
		removed: (s) => void seen.push(`-${s.join("/")}`),
	});
	const r = await relay.request("SUBSCRIBE_NAMESPACE");
	r.send({ type: "REQUEST_OK", params: {}, properties: [] });
	r.send({ type: "NAMESPACE", suffix: ["clip"] });
	r.send({ type: "NAMESPACE", suffix: ["a", "b"] });
	r.send({ type: "NAMESPACE_DONE", suffix: ["clip"] });
	await settle();
	expect(seen).toEqual(["+clip", "+a/b", "-clip"]);
});

test.each<[string, (r: Relay) => Promise<void>, number]>([
	["a second SETUP", async (r) => r.control.write(encodeMessage({ type: "SETUP" })), SessionCode.PROTOCOL_VIOLATION],
	["the control stream's end", async (r) => r.control.close(), SessionCode.PROTOCOL_VIOLATION],
	[
		"an unknown stream type",
		async (r) => {
			const w = (await r.transport.createUnidirectionalStream()).getWriter();
			await w.write(Uint8Array.of(0x0c));
		},
		SessionCode.PROTOCOL_VIOLATION,
	],
	[
		"NAMESPACE_DONE without NAMESPACE",
		async (r) => {
			session.subscribeNamespace([], { added: () => undefined, removed: () => undefined });
			const q = await r.request("SUBSCRIBE_NAMESPACE");
			q.send({ type: "REQUEST_OK", params: {}, properties: [] });
			q.send({ type: "NAMESPACE_DONE", suffix: ["x"] });
		},
		SessionCode.PROTOCOL_VIOLATION,
	],
	[
		"an alias twice",
		async (r) => {
			for (const name of ["a", "b"]) {
				session.subscribe({ ...TRACK, name }, {}, collector().handler);
				const q = await r.request("SUBSCRIBE");
				q.send({ type: "SUBSCRIBE_OK", trackAlias: 1, params: {}, properties: [] });
			}
		},
		SessionCode.DUPLICATE_TRACK_ALIAS,
	],
	[
		"a datagram of unknown type",
		async (r) => r.transport.datagrams.writable?.getWriter().write(Uint8Array.of(0x10, 0, 0)),
		SessionCode.PROTOCOL_VIOLATION,
	],
])("%s closes the session", async (_, act, code) => {
	await act(relay);
	await vi.advanceTimersByTimeAsync(200);
	expect((await session.closed).code).toBe(code);
});

test("a session without SETUP is given up", async () => {
	const { client, server } = mockPair();
	const lonely = Session.open(client);
	void server.incomingUnidirectionalStreams.getReader().read();
	const s = await lonely;
	await vi.advanceTimersByTimeAsync(5000);
	expect((await s.closed).code).toBe(SessionCode.CONTROL_MESSAGE_TIMEOUT);
});

test("the end of the session ends its subscriptions", async () => {
	const sub = session.subscribe(TRACK, {}, collector().handler);
	const r = await relay.request("SUBSCRIBE");
	expect((r.message as Subscribe).requestId).toBe(0);
	relay.transport.close({ closeCode: 0, reason: "shutdown" });
	expect((await session.closed).message).toBe("shutdown");
	await expect(sub.ok).rejects.toThrow("shutdown");
	expect((await sub.done)?.message).toBe("shutdown");
});

test("a request is refused", async () => {
	const stream = await relay.transport.createBidirectionalStream();
	await stream.writable.getWriter().write(encodeMessage({ type: "SUBSCRIBE", requestId: 1, track: TRACK, params: {} }));
	const answer = await new StreamReader(stream.readable).parse(readMessage);
	expect(answer).toMatchObject({ type: "REQUEST_ERROR", code: RequestCode.NOT_SUPPORTED });
});

test("a track is offered, and sent group by group", async () => {
	const track = session.publish({ namespace: [".session", "x"], name: "y" });
	const r = await relay.request("PUBLISH");
	expect(r.message).toMatchObject({ track: { namespace: [".session", "x"], name: "y" }, requestId: 0 });
	r.send({ type: "REQUEST_OK", params: {}, properties: [] });
	await track.ok;
	const next = async () => {
		const reader = new StreamReader((await relay.streams.read()).value as ReadableStream<Uint8Array>);
		const header = await reader.parse(readSubgroupHeader);
		const object = await reader.parse((b) => new SubgroupCursor(false).read(b));
		const payload = await reader.bytes(object?.payloadLength ?? 0);
		expect(await reader.parse((b) => b.uint8())).toBeUndefined();
		return { header, object, payload };
	};
	await track.write(7, Uint8Array.of(1, 2, 3));
	const { trackAlias } = r.message as Publish;
	expect(await next()).toMatchObject({
		header: { trackAlias, groupId: 7, endOfGroup: true, firstObject: true },
		object: { id: 0, status: 0 },
		payload: Uint8Array.of(1, 2, 3),
	});
	// The relay wants nothing for a while.
	r.send({ type: "REQUEST_UPDATE", requestId: 1, params: { forward: false } });
	expect((await r.reader.parse(readMessage))?.type).toBe("REQUEST_OK");
	await track.write(8, Uint8Array.of(4));
	r.send({ type: "REQUEST_UPDATE", requestId: 3, params: { forward: true } });
	expect((await r.reader.parse(readMessage))?.type).toBe("REQUEST_OK");
	await track.write(9, Uint8Array.of(5));
	expect((await next()).header?.groupId).toBe(9);
});

test("an offer that is refused", async () => {
	const track = session.publish({ namespace: [".session", "x"], name: "y" });
	const r = await relay.request("PUBLISH");
	r.send({ type: "REQUEST_ERROR", code: RequestCode.DOES_NOT_EXIST, reason: "no" });
	await expect(track.ok).rejects.toThrow(RequestFailed);
	await track.done;
});
