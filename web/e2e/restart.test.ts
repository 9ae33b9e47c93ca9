import { expect, test } from "vitest";
import { freePort, startClip, startRelay, useBrowser, watch } from "./harness.ts";

useBrowser();

test("it goes on after publisher and relay were restarted", async () => {
	const port = await freePort();
	let relay = await startRelay(port);
	let pub = await startClip(port);
	const player = await watch(port);
	await player.waitPlaying("at first");

	await pub.terminate();
	const p = await player.waitState("waiting", "publisher-gone");
	expect(p?.retrying).toBe(true);
	await player.page.getByRole("heading", { name: "The broadcast has stopped" }).waitFor();
	pub = await startClip(port);
	await player.waitPlaying("after a restart of the publisher", { looks: 2 });

	await relay.terminate();
	relay = await startRelay(port);
	await player.waitPlaying("after a restart of the relay", { looks: 2 });

	await relay.kill();
	await startRelay(port);
	await player.waitPlaying("after the relay was killed", { looks: 2 });
	expect((await player.info()).stats?.reconnects).toBeGreaterThan(0);
});

test("it begins when the broadcast does", async () => {
	const port = await freePort();
	await startRelay(port);
	const player = await watch(port);
	await player.waitState("waiting", "no-broadcast");
	await player.page.getByRole("heading", { name: "Nothing is being broadcast here yet" }).waitFor();
	await startClip(port);
	await player.waitPlaying("once it has begun");
});
