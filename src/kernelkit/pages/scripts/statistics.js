// Statistics of lists of numbers.

export const finite = (values) => values.filter(Number.isFinite);
export const sum = (values) => values.reduce((a, b) => a + b, 0);
export const mean = (values) => (values.length ? sum(values) / values.length : null);
export const ascending = (values) => [...values].sort((a, b) => a - b);

// The standard deviation of a sample; null of less than two values.
export function deviation(values) {
  if (values.length < 2) return null;
  const middle = mean(values);
  return Math.sqrt(sum(values.map((value) => (value - middle) ** 2)) / (values.length - 1));
}

// Of sorted values, with a straight line between two neighbours.
export function quantile(sorted, share) {
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

// The least and the greatest of values, which may be too many for the arguments of Math.min.
export function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

// {key: the items that have it}, in the order of their first items.
export function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const own = key(item);
    if (groups.has(own)) groups.get(own).push(item);
    else groups.set(own, [item]);
  }
  return groups;
}
