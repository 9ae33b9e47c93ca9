import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { freePort, openPage, relayUrl, startClip, startRelay, useBrowser, useRelay, watch } from "./harness.ts";

useBrowser();
const relay = useRelay({ clip: true });

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong, in the page and in the player's shadow tree. */
async function expectAccessible(page: Page): Promise<void> {
	await page.evaluate(axe);
	const found = await page.evaluate(async () => {
		interface Violation {
			id: string;
			help: string;
			nodes: { target: unknown; failureSummary: string }[];
		}
		const { axe } = globalThis as unknown as { axe: { run(d: Document): Promise<{ violations: Violation[] }> } };
		const { violations } = await axe.run(document);
		return violations.map((v) => [v.id, v.help, ...v.nodes.map((n) => `${n.target}: ${n.failureSummary}`)]);
	});
	expect(found).toEqual([]);
}

test.each([
	["on a phone, dark", { width: 390, height: 844, dark: true, touch: true }],
	["on a desk, light", { width: 1280, height: 900 }],
])("what axe looks for, %s", async (_, options) => {
	const player = await watch(relay.port, { statistics: "" }, options);
	await player.waitPlaying("the clip");
	const { page } = player;
	await expectAccessible(page);
	await page.getByRole("button", { name: "Settings" }).press("Enter");
	await page.getByRole("radio", { name: /^360p/ }).waitFor();
	await expectAccessible(page);
	// Nothing is wider than the screen.
	expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
});

test.each(["", "publish.html"])("the page /%s", async (path) => {
	const page = await openPage(`${relayUrl(relay.port)}${path}`, { width: 390, height: 844 });
	await page.getByRole("main").waitFor();
	if (path === "") await page.getByRole("link", { name: /clip/ }).waitFor();
	await expectAccessible(page);
	expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
});

test("it can be used by keyboard and by what is read out", async () => {
	const player = await watch(relay.port, {}, { width: 390, height: 700, dark: true });
	await player.waitPlaying("the clip");
	const { page } = player;
	await page.getByRole("button", { name: "Pause" }).waitFor();
	const state = () =>
		page.evaluate(() => {
			const p = document.querySelector("moq-player");
			return { muted: p?.muted, volume: p?.volume, statistics: p?.hasAttribute("statistics") };
		});
	await page.getByRole("region", { name: "Live video" }).focus();
	await page.keyboard.press("m");
	await page.keyboard.press("s");
	expect(await state()).toEqual({ muted: true, volume: 1, statistics: true });
	await page.getByRole("button", { name: "Unmute" }).waitFor();
	await page.keyboard.press("m");
	await page.keyboard.press("ArrowDown");
	expect(await state()).toMatchObject({ muted: false, volume: 0.9 });
	await page.getByRole("button", { name: "Settings" }).press("Enter");
	await page.getByRole("radio", { name: /^360p/ }).waitFor();
	await page.keyboard.press("Escape");
	expect(await page.getByRole("radio", { name: /^360p/ }).count()).toBe(0);
});

test("where the browser wants a click before there is sound, it begins without and says so", async () => {
	const before = () => {
		// The rule of browsers for pages that nobody has clicked on yet.
		const { resume } = AudioContext.prototype;
		globalThis.AudioContext = class extends AudioContext {
			constructor(o?: AudioContextOptions) {
				super(o);
				void this.suspend();
			}
		};
		AudioContext.prototype.resume = function (this: AudioContext) {
			return navigator.userActivation.hasBeenActive ? resume.call(this) : new Promise(() => undefined);
		};
	};
	const player = await watch(relay.port, {}, { before });
	await player.waitPlaying("the picture", { sound: false });
	await player.page.getByRole("button", { name: "Turn sound on" }).waitFor();
	await player.page.getByRole("button", { name: "Unmute" }).waitFor();
	expect((await player.look(1000)).loudest).toBe(0);
	await player.page.getByRole("button", { name: "Turn sound on" }).click();
	await player.waitPlaying("with sound");
	expect(await player.page.getByRole("button", { name: "Turn sound on" }).count()).toBe(0);
	await player.page.getByRole("button", { name: "Mute" }).waitFor();
});

test("the front page lists what there is", async () => {
	const port = await freePort();
	await startRelay(port);
	const page = await openPage(relayUrl(port), { width: 390, height: 700 });
	await page.getByText("Nothing is live right now").waitFor();
	const pub = await startClip(port);
	await page.getByRole("link", { name: /clip/ }).waitFor();
	await pub.terminate();
	await page.getByText("Nothing is live right now").waitFor();
	await startClip(port);
	await page.getByRole("link", { name: /clip/ }).click();
	await page.waitForSelector("moq-player");
	await expect
		.poll(() => page.evaluate(() => document.querySelector("moq-player")?.state), { timeout: 30_000 })
		.toBe("playing");
});
