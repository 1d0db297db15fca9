# %% [markdown]
# # Bicycles rented by the hour

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import tensorflow as tf

try:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
except ValueError:
    strategy = tf.distribute.get_strategy()

# %%
hours = pd.read_csv("/kaggle/input/bike-rental/hours.csv")
hours.head()

# %% [markdown]
# ## A day in spring and in autumn

# %%
by_hour = hours.pivot_table("rented", "hour", "season")
axes = by_hour.plot(figsize=(7, 3), ylabel="bicycles rented", xticks=range(0, 24, 3))
axes.grid(alpha=0.3)

# %% [markdown]
# ## A network of two layers

# %%
with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
angle = 2 * np.pi * hours["hour"] / 24
waves = [f(n * angle) for n in (1, 2, 3) for f in (np.sin, np.cos)]
inputs = np.column_stack([*waves, hours["season"] == "autumn", hours["temperature"] / 20])
inputs = inputs.astype("float32")
rented = hours["rented"].to_numpy("float32") / 100
late = np.arange(len(hours)) % 5 == 0  # every fifth hour validates
model.fit(inputs[~late], rented[~late], batch_size=64, epochs=30, verbose=0)

# %% [markdown]
# ## What it predicts

# %%
predicted = model.predict(inputs[late], verbose=0)[:, 0]
plt.figure(figsize=(5, 3.4))
plt.scatter(100 * rented[late], 100 * predicted, s=6, alpha=0.4)
plt.xlabel("rented")
plt.ylabel("predicted")
plt.grid(alpha=0.3)
error = 100 * np.sqrt(np.mean((predicted - rented[late]) ** 2))
print(f"validation RMSE {error:.1f}")
