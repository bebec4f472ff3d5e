"use strict";
// Draws the pictures and computes the what-if panel. All numbers come from the element #numbers of this page.
(function () {
  const page = JSON.parse(document.getElementById("numbers").textContent);

  // Sixty-four-bit floats from base64 text.
  function floats(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float64Array.from({ length: bytes.length / 8 }, (_, k) => view.getFloat64(8 * k, true));
  }

  // Pictures, one after the other; "ready" is set when the last one stands.
  async function draw() {
    const options = { actions: false, renderer: "svg", ast: false, tooltip: false, defaultStyle: false };
    for (const [place, spec] of Object.entries(page.charts)) {
      const frame = document.getElementById(place);
      await window.vegaEmbed(frame, spec, options);
      frame.querySelector("svg").setAttribute("aria-hidden", "true"); // the frame's label speaks for the picture
    }
    document.documentElement.dataset.ready = "true";
  }

  // The code of a number on the public grid, as dpcate.tables.grid.cell_codes: 0 is missing.
  function cellCode(value, low, high, grid) {
    if (Number.isNaN(value)) return 0;
    const clamped = Math.min(Math.max(value, low), high);
    return Math.floor(Math.min(((clamped - low) / (high - low)) * grid, grid - 1)) + 1;
  }

  function makeModel(numbers) {
    const arrays = numbers.arrays.map(floats);
    const at = (place, code) => (place.array < 0 ? 0 : arrays[place.array][code] * place.scale);
    const product = (term, codes) =>
      at(term.left, codes[term.first]) * at(term.right, codes[term.second]) - term.mean;
    const error = numbers.error;
    const covariance = error && floats(error.covariance);
    const shift = error && floats(error.shift);

    function effect(codes) {
      let total = numbers.intercept;
      numbers.tables.forEach((table, j) => { total += at(table, codes[j]); });
      numbers.products.forEach((term) => { total += product(term, codes); });
      if (numbers.link === "logistic") total = 1 / (1 + Math.exp(-total));
      if (numbers.low !== null) total = Math.max(total, numbers.low);
      if (numbers.high !== null) total = Math.min(total, numbers.high);
      return total;
    }

    // How far the interval's centre is from the effect, and the variance around it.
    function doubt(codes) {
      const values = [1];
      error.functions.forEach((column, j) => column.forEach((place) => values.push(at(place, codes[j]))));
      error.pairs.forEach((term) => values.push(product(term, codes)));
      let moved = 0;
      let total = 0;
      for (let i = 0, k = 0; i < error.size; i += 1) {
        moved += values[i] * shift[i];
        for (let j = 0; j <= i; j += 1, k += 1) {
          total += (i === j ? 1 : 2) * values[i] * values[j] * covariance[k];
        }
      }
      return [moved, Math.max(total, 0)];
    }

    function limits(codes) {
      if (!error) return null;
      const estimate = effect(codes);
      const [moved, variance] = doubt(codes);
      const middle = estimate + moved;
      const reach = numbers.times * Math.sqrt(variance);
      return [Math.min(middle - reach, estimate), Math.max(middle + reach, estimate)].map((x) => (
        Math.min(Math.max(x, -numbers.widest), numbers.widest)));
    }

    return { effect, limits };
  }

  function signed(value, decimals) {
    const text = Math.abs(value).toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    if (!/[1-9]/.test(text)) return text;
    return (value > 0 ? "+" : "\u2212") + text;
  }

  // A slider gives round numbers: to about a fiftieth of its range.
  function rounded(value, low, high) {
    if (high - low < 1e-200) return value;
    const unit = Math.pow(10, Math.floor(Math.log10((high - low) / 50)));
    const near = Number((Math.round(value / unit) * unit).toPrecision(12));
    return Math.min(Math.max(near, low), high);
  }

  function ruler(effect, limits, widest) {
    const svg = document.getElementById("ruler");
    svg.replaceChildren();
    const ends = limits || [effect, effect];
    widest.reach = Math.max(widest.reach, 1.1 * Math.abs(ends[0]), 1.1 * Math.abs(ends[1]));
    const x = (value) => 200 + (190 * value) / (widest.reach || 1);
    const add = (name, attributes, text) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", name);
      Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
      if (text) node.textContent = text;
      svg.append(node);
    };
    add("line", { x1: 5, x2: 395, y1: 16, y2: 16, stroke: "#76808b" });
    add("line", { x1: 200, x2: 200, y1: 4, y2: 28, stroke: "#1c2733", "stroke-dasharray": "3 2" });
    add("text", { x: 200, y: 43, "text-anchor": "middle", "font-size": 15, fill: "#1c2733" }, "no effect");
    if (limits) add("line", { x1: x(ends[0]), x2: x(ends[1]), y1: 16, y2: 16, stroke: "#7fb0dc", "stroke-width": 9 });
    add("circle", { cx: x(effect), cy: 16, r: 6, fill: "#1f5f99" });
  }

  function panel(numbers) {
    const model = makeModel(numbers);
    const answer = document.getElementById("answer");
    const described = document.getElementById("described");
    const interval = document.getElementById("answer-interval");
    const field = (j) => document.querySelector(`[data-feature="${j}"]`);
    const slider = (j) => document.querySelector(`[data-slider="${j}"]`);
    const widest = { reach: 0 };

    function code(column, j) {
      if (column.levels) return Number(field(j).value);
      const text = field(j).value.trim();
      return cellCode(text === "" ? NaN : Number(text), column.low, column.high, numbers.grid);
    }

    function shown(column, j) {
      return column.levels ? field(j).selectedOptions[0].textContent : field(j).value || "not known";
    }

    function update() {
      const codes = numbers.columns.map(code);
      const effect = model.effect(codes);
      const limits = model.limits(codes);
      answer.textContent = signed(effect, numbers.decimals);
      answer.dataset.effect = String(effect);
      if (limits) {
        interval.textContent = `95 % interval: ${signed(limits[0], numbers.decimals)} to ${signed(limits[1], numbers.decimals)}`;
        answer.dataset.lower = String(limits[0]);
        answer.dataset.upper = String(limits[1]);
      }
      described.textContent = numbers.columns.map((column, j) => `${column.name}: ${shown(column, j)}`).join("; ");
      ruler(effect, limits, widest);
    }

    numbers.columns.forEach((column, j) => {
      if (!column.levels) {
        field(j).value = String(rounded(column.start, column.low, column.high));
        slider(j).value = field(j).value;
        slider(j).addEventListener("input", () => {
          field(j).value = String(rounded(Number(slider(j).value), column.low, column.high));
          update();
        });
      }
      field(j).addEventListener("input", () => {
        if (!column.levels && field(j).value !== "") slider(j).value = field(j).value;
        update();
      });
    });
    document.getElementById("person").addEventListener("submit", (event) => event.preventDefault());
    update();
  }

  if (page.whatif) panel(page.whatif);
  draw();
})();
