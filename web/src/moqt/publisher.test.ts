import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DoneCode, RequestCode } from "../wire/codes.ts";
import { decodeDatagram } from "../wire/datagram.ts";
import { encodeMessage, type Message, readMessage } from "../wire/message.ts";
import { NO_PROPERTIES } from "../wire/object.ts";
import { readSubgroupHeader } from "../wire/subgroup.ts";
import { type MockTransport, mockPair } from "./mock.ts";
import { Broadcast, OutgoingTrack } from "./publisher.ts";
import { Session } from "./session.ts";
import { StreamReader } from "./stream.ts";
import { IncomingSubgroup } from "./subscription.ts";

const NAMESPACE = ["live", "studio"];

let relay: MockTransport;
let session: Session;
let streams: ReadableStreamDefaultReader<ReadableStream<Uint8Array>>;
let broadcast: Broadcast;
let video: OutgoingTrack;
let audio: OutgoingTrack;

beforeEach(async () => {
	vi.useFakeTimers();
	broadcast = new Broadcast(NAMESPACE);
	video = broadcast.add(new OutgoingTrack("video", 4));
	audio = broadcast.add(new OutgoingTrack("audio", 2, true));
	const { client, server } = mockPair();
	relay = server;
	streams = server.incomingUnidirectionalStreams.getReader();
	const opened = Session.open(client, { onRequest: (r) => broadcast.serve(() => session, r) });
	await streams.read(); // the control stream
	const control = (await server.createUnidirectionalStream()).getWriter();
	await control.write(encodeMessage({ type: "SETUP" }));
	session = await opened;
});

afterEach(() => {
	session.close();
	vi.useRealTimers();
});

/** Subscribes as a relay does. */
async function subscribe(name: string, forward?: boolean) {
	const { readable, writable } = await relay.createBidirectionalStream();
	const writer = writable.getWriter();
	const send = (m: Message) => writer.write(encodeMessage(m));
	const params = forward === undefined ? {} : { forward };
	await send({ type: "SUBSCRIBE", requestId: 1, track: { namespace: NAMESPACE, name }, params });
	const reader = new StreamReader(readable);
	return { answer: (await reader.parse(readMessage)) as Message, next: () => reader.parse(readMessage), send, writer };
}

async function nextSubgroup(): Promise<IncomingSubgroup> {
	const { value } = await streams.read();
	const reader = new StreamReader(value as ReadableStream<Uint8Array>);
	const header = await reader.parse(readSubgroupHeader);
	if (!header) throw new Error("no header");
	return new IncomingSubgroup(header, reader);
}

async function payloads(s: IncomingSubgroup, n: number): Promise<string[]> {
	const out: string[] = [];
	for (let o = await s.next(); o; o = await s.next()) {
		out.push(`${o.id}:${new TextDecoder().decode(o.payload)}`);
		if (out.length === n) break;
	}
	return out;
}

const write = (t: OutgoingTrack, group: number, id: number, text: string) =>
	t.write({ group, id, properties: NO_PROPERTIES, payload: new TextEncoder().encode(text) });

test("a subscriber gets the current group from its beginning, and those that follow", async () => {
	write(video, 1, 0, "old");
	write(video, 2, 0, "a");
	write(video, 2, 1, "b");
	const r = await subscribe("video");
	expect(r.answer).toMatchObject({ type: "SUBSCRIBE_OK", params: { largestObject: { group: 2, object: 1 } } });
	write(video, 2, 2, "c");
	const first = await nextSubgroup();
	expect(first.header).toMatchObject({ groupId: 2, priority: 4, firstObject: true });
	expect(await payloads(first, 3)).toEqual(["0:a", "1:b", "2:c"]);
	write(video, 3, 0, "d");
	expect(await first.next()).toBeUndefined(); // the group has ended in order
	const second = await nextSubgroup();
	expect(second.header.groupId).toBe(3);
	expect(await payloads(second, 1)).toEqual(["0:d"]);
});

test("sound goes in datagrams", async () => {
	const r = await subscribe("audio");
	const alias = (r.answer as { trackAlias: number }).trackAlias;
	const datagrams = relay.datagrams.readable.getReader();
	write(audio, 7, 0, "x");
	const { value } = await datagrams.read();
	expect(decodeDatagram(value as Uint8Array)).toMatchObject({
		trackAlias: alias,
		groupId: 7,
		objectId: 0,
		priority: 2,
	});
});

test("a track that there is not is refused", async () => {
	const r = await subscribe("other");
	expect(r.answer).toMatchObject({ type: "REQUEST_ERROR", code: RequestCode.DOES_NOT_EXIST });
});

test("whoever pauses gets nothing, and the current group when he goes on", async () => {
	const r = await subscribe("video", false);
	write(video, 1, 0, "a");
	write(video, 1, 1, "b");
	await vi.advanceTimersByTimeAsync(10);
	await r.send({ type: "REQUEST_UPDATE", requestId: 3, params: { forward: true } });
	expect(await r.next()).toMatchObject({ type: "REQUEST_OK" });
	const s = await nextSubgroup();
	expect(await payloads(s, 2)).toEqual(["0:a", "1:b"]);
	await r.send({ type: "REQUEST_UPDATE", requestId: 5, params: { forward: false } });
	await r.next();
	write(video, 2, 0, "c");
	expect(await s.next()).toBeUndefined();
});

test("a subscriber that leaves is forgotten", async () => {
	const r = await subscribe("video");
	expect(video.subscribers).toBe(1);
	await r.writer.abort(new Error("left"));
	await vi.advanceTimersByTimeAsync(0);
	expect(video.subscribers).toBe(0);
});

test("the end is told", async () => {
	const r = await subscribe("video");
	write(video, 1, 0, "a");
	await nextSubgroup();
	broadcast.end();
	expect(await r.next()).toMatchObject({ type: "PUBLISH_DONE", status: DoneCode.TRACK_ENDED, streamCount: 1 });
	expect(video.subscribers).toBe(0);
});
