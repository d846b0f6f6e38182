// A picture comes as one message with two arrays, which the browser hands to the parts: parts that
// come one by one are painted one by one, every array takes a millisecond, and nothing is told back.
const {image, numbers, columns, colours} = picture.data;
const data = {values: {image: image[0]}};
let at = 0;
for (const [part, column, length, many] of columns[0]) {
  const values = numbers[0].slice(at, at += length);
  data[part] ??= {};
  if (many) { (data[part][column] ??= []).push(values); }
  else { data[part][column] = values; }
}
for (const part in colours[0]) { data[part].color = colours[0][part]; }
for (const part in data) { parts[part].setv({data: data[part]}, {sync: false}); }
