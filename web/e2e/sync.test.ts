import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	figure,
	frameTime,
	median,
	type Player,
	Program,
	quantile,
	startLink,
	useBrowser,
	useRelay,
	watch,
} from "./harness.ts";

useBrowser();
const relay = useRelay({ clip: true });

let listeners = 0;

/** Sound and picture belong together: by what is seen and heard, and by what the player says. */
async function expectSync(player: Player, what: string): Promise<void> {
	const said: number[] = [];
	const name = `said${listeners++}`;
	await player.page.exposeFunction(name, (skew: number) => void said.push(skew));
	await player.page.evaluate((name) => {
		const p = document.querySelector("moq-player");
		const tell = Reflect.get(globalThis, name) as (skew: number) => void;
		p?.addEventListener("stats", () => {
			if (p.stats?.skew !== undefined) tell(p.stats.skew);
		});
	}, name);
	// A page that gets no time to look sees pictures late; so it gets some more looks.
	let skews: number[] = [];
	for (let i = 0; i < 4 && !(skews.length > 2 && Math.abs(median(skews)) < 80); i++) skews = await player.skews(6000);
	figure(`A/V skew ${what}, ms`, skews);
	expect(skews.length, what).toBeGreaterThan(2);
	expect(Math.abs(median(skews)), `${what}: ${skews.map(Math.round)}`).toBeLessThan(80);
	expect(said.length, what).toBeGreaterThan(0);
	expect(Math.abs(median(said)), `${what}, as the player says: ${said.map(Math.round)}`).toBeLessThan(80);
}

test("sound and picture stay together, also for who joins within a group", async () => {
	const player = await watch(relay.port, { latency: "200" });
	await player.waitPlaying("the clip");
	await expectSync(player, "after joining");
	// Leaving and joining again lands somewhere else in a group.
	await player.page.evaluate(async () => {
		const p = document.querySelector("moq-player");
		p?.pause();
		await new Promise((resolve) => setTimeout(resolve, 400 + Math.random() * 800));
		p?.play();
	});
	await player.waitPlaying("after joining again");
	await expectSync(player, "after joining again");
});

test("sound and picture are together again after the network has stood still", async () => {
	const { port } = await startLink(
		relay.port,
		"for=6s rate=20Mbit/s delay=5ms queue=300ms; for=1200ms rate=0; for=60s rate=20Mbit/s",
	);
	const player = await watch(port);
	await player.waitPlaying("at first");
	await player.page.waitForTimeout(6000);
	await player.waitPlaying("after the stall");
	await expectSync(player, "after a stall");
});

test("the delay that is told is the true one", async () => {
	const player = await watch(relay.port, { latency: "200", quality: "video-360p" });
	await player.waitPlaying("the clip");
	// When each group was captured, by an independent witness.
	const csv = join(tmpdir(), `moq-web-${process.pid}.csv`);
	const sub = new Program("moq-sub", [
		...["--tls-insecure", "--namespace", "live/clip", "--track", "video-360p", "--csv", csv],
		`moqt://127.0.0.1:${relay.port}/`,
	]);
	const watched = await player.watchFrames(8000);
	const frames = watched.frames.filter((f) => f.flash && f.said);
	await sub.terminate();
	const captured = readFileSync(csv, "utf8")
		.trim()
		.split("\n")
		.map((line) => line.split(","))
		.filter((f) => f[4] === "0" && f[7])
		.map((f) => Date.parse(f[0] as string) - Number(f[7]) / 1000);
	expect(frames.length).toBeGreaterThan(3);
	// The bar is white in the first three frames of a group.
	const wrong = frames.map((f) => Math.min(...captured.map((c) => Math.abs((f.said?.captured ?? 0) - c))));
	expect(median(wrong), `capture times ${wrong}`).toBeLessThan(34);
	const late = frames.map((f) => f.seen - (f.said?.at ?? 0));
	figure("seen by the page after the player says that it was shown, ms", late);
	expect(quantile(late, 0.25), `${late}`).toBeLessThan(frameTime(watched.interval));
});
